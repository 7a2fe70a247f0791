"""A small inverted index over source texts."""

from textindex.builder import build_index, search

__all__ = ["build_index", "search"]
