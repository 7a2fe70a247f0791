"""`headway resume`: another name for `headway run`."""

from headway.cli.commands.run import run as resume

__all__ = ["resume"]
