"""Look at a log file itself."""
