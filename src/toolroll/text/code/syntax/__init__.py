"""The structure of code: what a source defines and uses, found with tree-sitter's grammars."""
