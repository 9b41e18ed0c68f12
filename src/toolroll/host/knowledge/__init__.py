"""The library of documents, notes, memories, todo lists and the history of calls."""
