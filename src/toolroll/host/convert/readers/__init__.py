"""What reads each kind of file, in the child alone: a module for each, with a function `read`."""
