"""Programs of ours that run in a project's own interpreter. They import nothing of ours."""
