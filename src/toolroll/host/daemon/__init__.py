"""Requests to the daemon of a workspace: the client that sends them, and their execution in a thread of the daemon.

Front: `client.call_daemon`, which imports nothing that takes long. The daemon itself is `toolroll.daemon`.
"""
