"""The files of recorded sessions, and the folders in which they are replayed."""
