"""Run the tests, linters and formatters of a project with the project's own programs.

Front: `projects.Projects`. Imports `host.shell`, `host.search`, `host.files`, `host.git`; parses by `text.dev`.
"""
