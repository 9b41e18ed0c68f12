"""Pure parts of the web tools: HTML to Markdown (`html`) and the web search engines (`engines`). No I/O."""
