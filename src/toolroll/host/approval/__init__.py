"""Authorise calls and commands: carry out the policy, ask the approver, remember the answers.

Front: `guard.Guard`. Imports only `host.runtime`, `policy` and `text`.
"""
