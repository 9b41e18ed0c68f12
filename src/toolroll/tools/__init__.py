"""The tools: one file each, found by listing; the folder is the category. A tool reaches the world by its `ctx`."""
