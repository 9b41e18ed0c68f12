"""Programs that are refused: by name (`banned`), or for what their arguments destroy.

Front: `table.DESTRUCTIVE`. Imports `parse`.
"""
