"""Read what commands print: hints for errors, shortened tracebacks. Pure, no I/O."""
