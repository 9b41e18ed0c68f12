"""Place an edit in a text: exact and forgiving matches, replacement, and helpful refusals. Pure, no I/O.

`match.replace` is the front for one place, `replace` for all occurrences. May import text primitives and patch.
"""
