"""headway: measurable headway on code while nobody watches."""

__version__ = "0.1.0"
