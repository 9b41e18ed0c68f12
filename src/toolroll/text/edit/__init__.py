"""Place an edit in a text: exact, forgiving and elided matches, and why one was refused."""
