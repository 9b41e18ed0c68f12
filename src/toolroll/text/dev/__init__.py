"""Development tools as text: command lines and output of test frameworks, linters and profilers."""
