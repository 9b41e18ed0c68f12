"""The console: one page on the loopback for all running processes of this user.

Front: `server.run_console`. The page in `page/` shows and answers; `relay` connects it to the control sockets.
Only `cli/` imports this package.
"""
