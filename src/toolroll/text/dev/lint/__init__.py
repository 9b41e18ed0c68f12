"""The findings of linters and formatters."""
