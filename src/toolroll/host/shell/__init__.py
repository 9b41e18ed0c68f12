"""Run commands: launch, supervise, capture, end. `shell.Shell` is the front."""
