"""The real clients: where their programs are, which settings they need, and how one runs against a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.npm import node

_SOURCE = Path(__file__).parents[2] / "src"
_SECONDS = 300  # spent on faults alone
Settings = dict[str, str]
"""Files below the home folder, by path."""


@dataclass(frozen=True)
class Server:
    """How a client reaches toolroll: it starts the program, or connects to a URL with a token."""

    url: str = ""
    token: str = ""

    @property
    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


STDIO = Server()


@dataclass(frozen=True)
class ClientProgram:
    """A client that runs one task without a terminal."""

    name: str
    """Of its npm package in `npm/`, too."""
    program: str
    """Below node_modules, with wildcards for the platform."""
    arguments: Sequence[str]
    """`{home}` is the home folder."""
    settings: Callable[[str, Server], Settings]
    """For the URL of a model and a server."""
    variables: dict[str, str]
    """`{url}` is the model, `{home}` the home folder."""
    frame: str
    """A pattern of what the client itself adds to a result."""

    def command(self) -> list[str]:
        """Its program; skips the test where it cannot be had."""
        modules = node.packages(Path(__file__).with_name("npm") / f"{self.name}.json")
        program = str(sorted(modules.glob(self.program))[-1])
        return [node.program(), program] if program.endswith(".js") else [program]


def _claude_settings(_model: str, server: Server) -> Settings:
    entry: dict[str, Any] = {"command": "toolroll", "args": ["mcp"]}
    if server.url:
        entry = {"type": "http", "url": server.url, "headers": server.header}
    return {"mcp.json": json.dumps({"mcpServers": {"toolroll": entry}})}


def _codex_settings(model: str, server: Server) -> Settings:
    entry = 'command = "toolroll"\nargs = ["mcp"]'
    if server.url:
        entry = f'url = "{server.url}"\nbearer_token_env_var = "TOOLROLL_TOKEN"'
    text = f"""
        model = "scripted"
        model_provider = "scripted"
        tool_output_token_limit = 10000
        check_for_update_on_startup = false
        [analytics]
        enabled = false
        [features]
        plugins = false
        [model_providers.scripted]
        name = "scripted"
        base_url = "{model}/v1"
        wire_api = "responses"
        [mcp_servers.toolroll]
        {entry}
        default_tools_approval_mode = "approve"
        required = true
        supports_parallel_tool_calls = true
    """
    return {".codex/config.toml": text}


def _opencode_settings(model: str, server: Server) -> Settings:
    entry: dict[str, Any] = {"type": "local", "command": ["toolroll", "mcp"], "enabled": True}
    if server.url:
        entry = {"type": "remote", "url": server.url, "headers": server.header, "oauth": False}
    images = {"attachment": True, "tool_call": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "models": {"scripted": images},
        "options": {"baseURL": f"{model}/v1", "apiKey": "any"},
    }
    settings = {"model": "scripted/scripted", "provider": {"scripted": scripted}, "mcp": {"toolroll": entry}}
    return {".config/opencode/opencode.json": json.dumps(settings | {"autoupdate": False, "share": "disabled"})}


def _gemini_settings(_model: str, server: Server) -> Settings:
    entry: dict[str, Any] = {"command": "toolroll", "args": ["mcp"], "trust": True}
    if server.url:
        entry = {"httpUrl": server.url, "headers": server.header, "trust": True}
    settings = {
        "mcpServers": {"toolroll": entry},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return {".gemini/settings.json": json.dumps(settings)}


PROGRAMS = {
    one.name: one
    for one in (
        ClientProgram(
            "claude-code",
            "@anthropic-ai/claude-code-*/claude",
            ["-p", "go", "--mcp-config", "{home}/mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__toolroll"],
            _claude_settings,
            {
                "ANTHROPIC_BASE_URL": "{url}",
                "ANTHROPIC_API_KEY": "any",
                "CLAUDE_CONFIG_DIR": "{home}/.claude",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            r"(\n\[Image: source: [^\n]+\])?",
        ),
        ClientProgram(
            "codex",
            "@openai/codex-*/vendor/*/bin/codex",
            ["exec", "--skip-git-repo-check", "go"],
            _codex_settings,
            {"CODEX_HOME": "{home}/.codex"},
            r"Wall time: [\d.]+ seconds\nOutput:\n",
        ),
        ClientProgram(
            "opencode",
            "opencode-*64*/bin/opencode",
            ["run", "-m", "scripted/scripted", "go"],
            _opencode_settings,
            {
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
            "",
        ),
        ClientProgram(
            "gemini-cli",
            "@google/gemini-cli/bundle/gemini.js",
            ["--yolo", "-p", "go"],
            _gemini_settings,
            {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "any"},
            r"<untrusted_context>\n\n</untrusted_context>(\n\[Tool 'read' provided the following image data [^\n]+\])?"
            r"|MCP tool 'read' reported tool error for function call: [^\n]+",
        ),
    )
}


def write_launcher(folder: Path) -> Path:
    """A program `toolroll` of this checkout: not every client passes PYTHONPATH on."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "toolroll"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={_SOURCE} exec {sys.executable} -P -m toolroll "$@"\n')
    program.chmod(0o755)
    return program


@contextmanager
def started(
    client: ClientProgram, model: str, work: Path, home: Path, server: Server
) -> Iterator[subprocess.Popen[str]]:
    """Run a client on a folder, with nothing of the user's own settings; all its processes end with the block."""
    for path, text in client.settings(model, server).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
    write_launcher(home / "bin")
    variables = {
        "HOME": str(home),
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PWD": str(work),  # opencode takes the project from it
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "TOOLROLL_TOKEN": server.token,
        # What a client asks of any other machine comes to the model, which refuses it.
        **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), model),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
        **{name: value.format(url=model, home=home) for name, value in client.variables.items()},
    }
    command = client.command() + [one.format(home=home) for one in client.arguments]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=work, env=variables, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run(client: ClientProgram, model: str, work: Path, home: Path, server: Server = STDIO) -> str:
    """Run a client to its end; what it printed."""
    with started(client, model, work, home, server) as process:
        printed, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, printed
    return str(printed)
