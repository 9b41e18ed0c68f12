"""Files beneath one root, opened by the kernel and written atomically. `workspace.Workspace` is the front."""
