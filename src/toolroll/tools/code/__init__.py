"""Tools that understand code: its structure, its problems, and where things are defined and used."""
