"""Pure functions on text: no I/O, no imports from `host`. Each package is one subject and imports no other one."""
