"""What happened to files, as data and as a line of text. Pure, no I/O. Front: `changes.Change`."""
