"""How to use these tools well: short texts, one file each, that ship with the package."""
