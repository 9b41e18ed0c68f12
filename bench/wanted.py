"""The goals: what toolroll wants to be in the same run as its peers, and how far beyond that it wants to go.

Those without a number are the table of what a user may expect; G1 to G10 are where we are going. What a figure stands
for is written in the case that it is taken from. Quality that takes long to measure has pages of its own: the places of
changes in docs/code.md, the passages for a question in docs/retrieval.md.
"""

from __future__ import annotations

from bench.goals import Goal, beside, elapsed, growth, megabytes, microseconds, milliseconds, over, right

NODE = "@modelcontextprotocol/server-filesystem"
SDK = "mcp low-level Server"
LANGCHAIN = "langchain-core"
APPLY = "git apply"

GOALS = (
    Goal("", "call of a no-op tool", "dispatch", "arguments as dict", microseconds, 20, "us"),
    Goal("", "call of a no-op tool : LangChain", "dispatch", "arguments as dict", beside(LANGCHAIN), 1 / 25),
    Goal("", "import : langchain_core.tools", "imports", "import", beside("langchain_core"), 1 / 2),
    Goal("", "memory of the import", "imports", "import*kit", megabytes, 12, "MB"),
    Goal("", "MCP start : node server", "mcp", "start*", beside(NODE, "wall"), 1 / 2),
    Goal("", "MCP read, p50 : node server", "mcp", "read, one*", beside(NODE, "wall"), 1 / 2),
    Goal("", "MCP read, 16 in flight : node server", "mcp", "read, 16*", beside(NODE, "wall"), 1 / 3),
    Goal("", "grep, no index : rg", "grep", "[!v]*no index", beside("rg, output taken"), 1.15),
    Goal("", "grep, common word, first 100 : rg", "grep", "very*, [!f]*no index", beside("rg, output taken"), 1 / 10),
    Goal("", "grep, warm, django : rg", "grep", "[!v]*django, warm index", beside("rg, output taken"), 1 / 5),
    Goal("", "grep, warm, large : rg", "grep", "[!v]*30,000 files, warm index", beside("rg, output taken"), 1 / 15),
    Goal("", "find, tree never seen : rg + stat", "find", "*cold", beside("rg"), 1 / 2),
    Goal("", "find, warm : rg + stat", "find", "*warm", beside("rg"), 1 / 10),
    Goal("", "read deep in 100 MB : sed", "read", "[!h]*100 MB", beside("sed"), 1 / 2),
    Goal("", "the same, again : sed", "read", "[!h]*again", beside("sed"), 1 / 20),
    Goal("", "edit of 5 MB : the same with fsync", "edit", "*", beside("read, replace, new file, fsync"), 1.5),
    Goal("", "patch: right", "patch", "*", right, 100, "%", least=True),
    Goal("", "patch : git apply", "patch", "*", beside(APPLY), 1),
    Goal("", "command under Landlock, over a plain one", "spawn", "*landlock*", over("plain"), 1, "ms"),
    Goal("", "command under bubblewrap, over a plain one", "spawn", "*bubblewrap*", over("plain"), 6, "ms"),
    Goal("", "an answer reaches the call that waits", "approval", "answer *", elapsed, 50, "ms"),
    Goal("", "outline and symbols, cold : parse", "structure", "[!r]*cold*", beside("tree-sitter"), 1.3),
    Goal("", "outline and symbols, after an edit : parse", "structure", "[!r]*edit*", beside("tree-sitter"), 1 / 50),
    Goal("", "first map : aider", "repo_map", "first*", beside("aider"), 1 / 2),
    Goal("", "map after an edit : aider", "repo_map", "after*", beside("aider"), 1 / 50),
    Goal("", "rag, 100,000 pieces : numpy", "rag", "*100,000*", beside("numpy"), 2),
    Goal("G1", "grep, warm, mean, django : rg", "grep", "[!v]*django, warm index", beside("rg"), 1 / 25, mean=True),
    Goal("G1", "grep, warm, mean, large : rg", "grep", "[!v]*30,000*, warm index", beside("rg"), 1 / 30, mean=True),
    Goal("G1", "grep, no index : rg", "grep", "[!v]*no index", beside("rg, output taken"), 1.05),
    Goal("G2", "find, warm, large : rg + stat", "find", "synthetic*warm", beside("rg"), 1 / 200),
    Goal("G2", "find, tree never seen : rg + stat", "find", "*cold", beside("rg"), 0.75),
    Goal("G3", "call of a no-op tool", "dispatch", "arguments as JSON text", microseconds, 3, "us"),
    Goal("G3", "import", "imports", "import", milliseconds, 60, "ms"),
    Goal("G4", "MCP start : node server", "mcp", "start*", beside(NODE, "wall"), 1 / 4),
    Goal("G4", "MCP start : SDK", "mcp", "start*", beside(SDK, "wall"), 1 / 8),
    Goal("G4", "MCP read, p50 : node server", "mcp", "read, one*", beside(NODE, "wall"), 1 / 5),
    Goal("G4", "MCP read, 16 in flight : node server", "mcp", "read, 16*", beside(NODE, "wall"), 1 / 5),
    Goal("G4", "find over MCP : node server", "mcp", "find *", beside(NODE, "wall"), 1 / 100),
    Goal("G5", "read deep in 100 MB : islice", "read", "[!h]*100 MB", beside("islice"), 1 / 5),
    Goal("G5", "the same, again : islice", "read", "[!h]*again", beside("islice"), 1 / 300),
    Goal("G5", "edit of 5 MB : a plain write", "edit", "*", beside("read, replace, write"), 1.1),
    Goal("G6", "patch : git apply", "patch", "*", beside(APPLY), 1 / 2),
    Goal("G7", "first map of django : aider", "repo_map", "first*django", beside("aider"), 1 / 6),
    Goal("G7", "the same, asked again : aider", "repo_map", "asked again*django", beside("aider"), 1 / 400),
    Goal("G7", "the same, after an edit : aider", "repo_map", "after*django", beside("aider"), 1 / 100),
    Goal("G9", "fresh shell, no sandbox : subprocess.run", "spawn", "a fresh shell, none", beside("subprocess"), 1.05),
    Goal("G9", "command under bubblewrap : one bwrap each", "spawn", "*bubblewrap*small*", beside("bwrap"), 1 / 7),
    Goal("G8", "rag, 10,000 pieces : numpy", "rag", "*10,000*", beside("numpy"), 1),
    Goal("G10", "growth of rag, 1,000 to 100,000 pieces", "rag", "*", growth, 4, grows=True),
    Goal("G10", "growth of warm grep, flask to 100,000 files", "grep", "*warm*", growth, 4, grows=True),
    Goal("G10", "growth of warm find, flask to 100,000 files", "find", "*warm*", growth, 4, grows=True),
)
