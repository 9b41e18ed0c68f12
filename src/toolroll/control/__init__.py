"""The control socket of a process that holds a kit: live calls, approvals and views, for the console and the terminal.

Fronts: `server.ControlServer` and `client.ControlClient`. The server imports little until somebody connects.
"""
