"""Documents, notes, memories and todo lists as text: split, parse, rank, show. Imports `text.ranking`, `text.code`."""
