"""The daemon of a workspace: one process that answers `toolroll call` with warm engines, and keeps jobs running.

Front: `server.DaemonServer`, run by `toolroll up`; its client is `toolroll.host.daemon.client`. Nothing needs the
daemon: without one, every command does its work itself.
"""
