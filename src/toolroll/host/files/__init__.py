"""Files beneath one root: opened by the kernel (openat2), written atomically, recorded in a journal.

`workspace.Workspace` is the front for contents, `tree.FileTree` for names. May import approval, runtime, text, policy.
"""
