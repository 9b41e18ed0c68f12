"""Parse a patch of any form and apply it to texts: every hunk at a sure place, or an error. Pure, no I/O.

`plan.plan` is the front. Own code: models write faulty patches that git and GNU patch reject or misplace.
"""
