"""The tools: one file each, the folder is the category. The world comes to a tool through its `ctx`."""
