"""Pure engines on text, no I/O: a folder for each subject, and shared primitives as single modules."""
