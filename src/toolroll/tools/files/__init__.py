"""Tools that read and change files; one file for each."""
