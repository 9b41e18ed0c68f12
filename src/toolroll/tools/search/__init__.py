"""Finding files and text."""
