"""Commands that record sessions and replay them."""
