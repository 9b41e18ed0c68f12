"""Documents, notes, memories and todo lists as text; passages and how they are ranked together."""
