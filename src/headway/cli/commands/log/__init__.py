"""Look at a log file itself: this run's, or any other of its family."""
