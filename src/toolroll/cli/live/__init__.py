"""Commands about running processes."""
