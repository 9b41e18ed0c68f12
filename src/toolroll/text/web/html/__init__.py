"""Web pages: their encoding (`charset`) and their Markdown (`markdown`, by turbohtml)."""
