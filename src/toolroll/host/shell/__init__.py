"""Run commands: judge, launch, supervise, capture, end; background jobs.

`shell.Shell` is the front; results are `command_result.CommandResult`. May import sandbox, files, approval and runtime.
"""
