"""Tools that run commands and programs; one file for each."""
