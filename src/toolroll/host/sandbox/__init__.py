"""What holds a command: bubblewrap, or Landlock with seccomp, or nothing, by the operator's own word."""
