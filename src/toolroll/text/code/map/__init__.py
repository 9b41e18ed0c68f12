"""Which files of a tree matter: for a question in words, for files in play, or by how the code hangs together."""
