"""The structure of source code (`syntax`) and the map of a code base (`map`)."""
