"""Parse shell text into the simple commands, redirections and assignments that it would run.

Front: `analysis.analyse`. Imports nothing else of `policy`.
"""
