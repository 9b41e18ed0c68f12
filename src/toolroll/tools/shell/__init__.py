"""Tools that run programs."""
