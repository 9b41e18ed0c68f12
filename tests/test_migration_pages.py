"""The pages for those who come from one of the five documents: complete, and each block of code runs."""

import re
from pathlib import Path

import pytest

from docs import generate
from toolroll import dialects

DOCS = Path(__file__).parents[1] / "docs"
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Every type, function, method, constant and tool that a document names.
NAMES = {
    "cdd": """NewRegistry DefaultRegistry Register Get All Filter SafeTools Metadata Names ToolMetadata AgentTool ToolResponse
        OnToolResult WithSessionID SessionIDFromContext WithMessageID MessageIDFromContext WithWorkingDir
        WorkingDirFromContext ResolvePath IsPathWithinDir FileRecord RecordFileRead RecordFileWrite GetLastReadTime
        GetLastWriteTime ClearFileRecords ReadTime WriteTime MaxReadSize DefaultReadLimit MaxLineLength read write edit glob
        grep bash""",
    "fosscode": """Tool ToolParameter ToolResult ToolRegistry toolRegistry register getTool listTools unregister
        initializeTools BashTool EditTool GrepTool ListTool ReadTool WebFetchTool WriteTool TodoTool TodoWriteTool
        TodoReadTool DuckDuckGoTool GlobTool MultieditTool PatchTool LSPDiagnosticsTool WebSearchTool LSPHoverTool
        SecurityManager validatePath validateFileOperation validateFileType validateFileSize allowedFileTypes
        restrictedPaths maxFileSize getOpenAIToolsFormat listAvailableTools convertParameters executeToolCalls
        ToolExecutionResult formatToolResult formatBashResult formatReadResult formatListResult formatGrepResult
        formatWriteResult formatEditResult formatWebFetchResult formatGenericResult detectMissingTool attemptInstallation
        executionCache getCacheKey executeWithCache MAX_CONCURRENT_TOOLS activeToolExecutions executeToolWithLimits
        MAX_OUTPUT_SIZE truncateOutput CustomTool performOperation ValidationError SecurityError TimeoutError errorType
        errorCode stack bash read write edit grep list webfetch todowrite todoread duckduckgo glob multiedit patch
        lsp-diagnostics websearch lsp-hover""",
    "coding-agent": """Tool ToolParameter tool_action ToolRegistry base.py registry.py async_executor.py chain.py run(
        FileTool( CodeExecutionTool( CodeSearchTool TestRunnerTool( GitTool( LinterTool ProfilerTool TerminalTool( FinishTool
        MemoryTool NoteTool SearchTool RAGTool MCPTool( MCPWrappedTool max_read_size max_write_size lint_on_edit view_window
        timeout allow_destructive allow_cd server_command auto_expand safe_run QDRANT_URL FunctionCallAgent __FINISH__
        react_agent.py funca_agent.py run_swarm.py BaseTool to_openai_schema file code_exec code_search test_runner git
        linter profiler terminal finish memory note search rag mcp""",
    "koopa": """KitConfig PathVal CmdVal EnvVal HTTPVal KnowledgeStore NewPath NewCommand NewEnv NewHTTP NewKit WithLogger
        Register All ListTools Result Status Message Data Error StatusError Code Details SecurityError NotFound
        PermissionDenied IOError ExecutionError TimeoutError NetworkError ValidationError readFile writeFile listFiles
        deleteFile getFileInfo executeCommand getEnv currentTime httpGet searchHistory searchDocuments
        searchSystemKnowledge""",
    "pigo": """ToolRegistry Register Get Execute GetDefinitions List ValidateArgs types.Tool ToolResult ErrorResult
        ValidatePath allowedDir FileOps ExecOps read write edit bash grep find ls""",
}


def page(dialect: str) -> Path:
    return DOCS / f"from-{dialect}.md"


@pytest.mark.parametrize("dialect", NAMES)
def test_every_name_of_the_document_is_on_its_page(dialect: str) -> None:
    rows = [line for line in page(dialect).read_text().splitlines() if line.startswith("| ")]
    shown = " ".join(re.findall(r"`([^`]+)`", " ".join(rows)))
    assert [name for name in NAMES[dialect].split() if not re.search(rf"(?<!\w){re.escape(name)}", shown)] == []


@pytest.mark.parametrize("dialect", NAMES)
def test_what_a_page_shows_runs(dialect: str, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ws)
    monkeypatch.setenv("XDG_STATE_HOME", str(ws.parent / "state"))
    text = page(dialect).read_text()
    names = {"__name__": "page"}
    blocks = list(CODE.finditer(text))
    for block in blocks:
        before = "\n" * (text.count("\n", 0, block.start()) + 1)  # so that an error names the line of the page
        exec(compile(before + block[1], str(page(dialect)), "exec"), names)
    assert len(blocks) >= 3


def test_every_document_has_a_page_and_the_manual_lists_it() -> None:
    documents = [name for name in dialects.names() if generate._read_statements(name)[1]]
    own = [name for name in documents if not generate._read_statements(name)[0]]
    assert sorted(own) == sorted(NAMES)
    manual = (DOCS / "README.md").read_text()
    assert [name for name in NAMES if page(name).name not in manual] == []
