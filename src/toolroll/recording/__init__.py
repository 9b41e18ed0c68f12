"""Recorded sessions: the calls of a kit with their results, and the files that they began with, to run them again.

Front: `RecordedKit`, `read_recording`, `replay`. May import the kit and what is below it.
"""
