"""`toolroll fleet`: many tasks, each in an isolated lease."""
