"""The structure of source code, by tree-sitter: what a source defines and uses.

Front: `tags.tags`, from a source to `model.Tags`; `outline`, `symbols` and `uses` read these. A language is one file in
`languages`. Imports `toolroll.result`, the names and counts of `text`, and nothing of the host.
"""
