"""Guard the repository of a workspace against commands that may write there. `guard.GitGuard` is the front."""
