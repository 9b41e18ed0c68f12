"""Who may do what, and who is asked. `guard.Guard` is the front."""
