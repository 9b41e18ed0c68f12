"""Tools that store and find knowledge: documents, notes, memories, earlier calls."""
