"""What every engine stands on: the call, cancellation, the state folder, databases, locks and child processes.

Front: `launcher.Launcher`, the only starter of processes. Imports no other package of the host.
"""
