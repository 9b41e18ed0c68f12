"""Patches: unified and git diffs and the Begin/End Patch form, read, placed and planned without any I/O."""
