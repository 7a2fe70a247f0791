"""Other tools' logs, read into ours: one file a format, and nothing invented."""
