"""Tools that keep and find what is known."""
