import re
import sys

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.host.http.client import Client
from toolroll.host.models.chat.config import load_model
from toolroll.host.requirement import add_extra

O, A, OU, AU = "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"  # noqa: E741
OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com"
CASES = [
    ("openai:gpt-5", {O: "k"}, ("openai", "gpt-5", OPENAI)),
    ("Anthropic:claude-x", {A: "k"}, ("anthropic", "claude-x", ANTHROPIC)),
    ("gpt-5", {O: "k", A: "k"}, ("openai", "gpt-5", OPENAI)),
    ("claude-x", {O: "k", A: "k"}, ("anthropic", "claude-x", ANTHROPIC)),
    ("claude-x", {O: "k", OU: "http://127.0.0.1:9/v1/"}, ("openai", "claude-x", "http://127.0.0.1:9/v1")),
    ("qwen3:8b", {OU: "http://localhost:11434/v1"}, ("openai", "qwen3:8b", "http://localhost:11434/v1")),
    ("mistral", {A: "k"}, ("anthropic", "mistral", ANTHROPIC)),
    ("mistral", {O: "k", A: "k"}, ("openai", "mistral", OPENAI)),
    ("anthropic:c", {A: "k", AU: "http://127.0.0.1:9"}, ("anthropic", "c", "http://127.0.0.1:9")),
]


@pytest.mark.parametrize(("name", "environment", "expected"), CASES)
def test_which_model(name: str, environment: dict[str, str], expected: tuple[str, str, str]) -> None:
    for model in (
        load_model({"TOOLROLL_MODEL": name, **environment}, Client()),
        load_model(environment, Client(), name),
    ):
        assert model is not None
        assert (model.endpoint.provider, model.name, model.endpoint.url) == expected


def test_none_is_named() -> None:
    assert load_model({O: "k", "TOOLROLL_MODEL": " "}, Client()) is None


WRONG = [
    ({"TOOLROLL_MODEL": "openai:x"}, "needs OPENAI_API_KEY"),
    ({"TOOLROLL_MODEL": "claude-x"}, "needs ANTHROPIC_API_KEY"),
    ({"TOOLROLL_MODEL": "openai:x", OU: "ftp://secretword@a"}, "OPENAI_BASE_URL is not a URL that can be asked"),
    ({"TOOLROLL_MODEL": "openai:x", OU: "http://u:secretword@a/v1"}, "OPENAI_BASE_URL is not a URL that can be asked"),
    ({"TOOLROLL_MODEL": "openai:x", O: "k", "TOOLROLL_MODEL_OUTPUT": "many"}, "Set a number"),
]


@pytest.mark.parametrize(("environment", "message"), WRONG)
def test_what_is_missing(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        load_model(environment, Client())
    assert caught.value.code is ErrorCode.UNSUPPORTED
    assert "secretword" not in str(caught.value)


@pytest.mark.parametrize(("name", "package"), [("openai:x", "openai"), ("claude-x", "anthropic")])
def test_the_extra_is_not_installed(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as Python marks a package that cannot be imported
    with pytest.raises(ToolError, match=rf"'{package}'\. Install it: {re.escape(add_extra('agent'))}") as caught:
        load_model({"TOOLROLL_MODEL": name, O: "k", A: "k"}, Client())
    assert caught.value.code is ErrorCode.UNSUPPORTED
