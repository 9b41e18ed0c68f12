"""What commands print: hints for errors, tracebacks."""
