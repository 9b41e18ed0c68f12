"""Documents that are not text, turned into text by children that can reach nothing and take little."""
