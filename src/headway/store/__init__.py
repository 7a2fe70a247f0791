"""Durable bytes: the only room that writes in the state root."""
