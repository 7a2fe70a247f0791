"""One file a command: it reads arguments, makes one call to the app, and prints."""
