"""Run tests, linters and profilers of a project."""
