"""Search names and contents of files. `search.Search` is the front."""
