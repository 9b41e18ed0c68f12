"""Capture: what commands changed in the workspace, found by comparing it before and after, kept so that `undo` works.

`capture.Capture` is the front. May import files and runtime.
"""
