"""Structure and map of the code in a workspace."""
