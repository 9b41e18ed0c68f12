"""Tools of a developer: git, tests, linters, profilers."""
