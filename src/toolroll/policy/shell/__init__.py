"""Judge shell text without running it: what only reads, what is refused, what needs approval.

Front: `toolroll.policy.commands`. `parse/` finds the commands, `read_only/` and `destructive/` are the tables,
`policy.commands` decides. Imports only `policy.decision`.
"""
