"""The daemon of a workspace: one process that does the work of `toolroll call`, and keeps jobs.

Front: `server.DaemonServer`, run by `toolroll up`; its client is `toolroll.host.daemon.client`. Nothing needs the
daemon: without one, every command does its work itself.
"""
