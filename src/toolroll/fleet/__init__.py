"""The fleet: many isolated kits on forks of one warm, frozen base.

Front: `Fleet` for programs, `runner` for `toolroll fleet run`.
"""
