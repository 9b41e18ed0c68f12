"""What every engine of the host stands on: the launcher of processes. It imports no other package of the host."""
