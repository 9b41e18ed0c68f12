"""The daemon of a workspace: one process that answers `toolroll call` with warm engines, and keeps jobs running.

Front: `client.call_daemon` for the command line, `server.DaemonServer` for `toolroll up`. The client imports nothing
that takes long. Nothing needs the daemon: without one, every command does its work itself.
"""
