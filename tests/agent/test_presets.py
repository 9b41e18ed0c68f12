from collections.abc import Callable

import pytest

from toolroll import Kit
from toolroll.agent.presets import PRESETS, WORKERS

SEVEN = ["file", "code_exec", "code_search", "test_runner", "git", "linter", "profiler"]
# As the document of the Coding Agent lists them, under "Default Tool Sets by Entry Point".
SETS = {
    "react": SEVEN,
    "function-call": [*SEVEN, "finish"],
    "review": ["file", "code_search", "linter", "git"],
    "test": ["file", "code_exec", "code_search", "test_runner"],
    "optimize": ["file", "code_exec", "code_search", "profiler", "linter"],
    "debug": ["file", "code_exec", "code_search", "test_runner", "git", "linter"],
}


@pytest.mark.parametrize("name", SETS)
def test_the_tools_of_each_are_those_of_its_document(open_kit: Callable[..., Kit], name: str) -> None:
    preset = PRESETS[name]
    assert preset.dialect == "coding-agent"
    assert open_kit(preset.dialect, tools=preset.tools).names() == SETS[name]


def test_there_are_no_others() -> None:
    assert list(PRESETS) == ["native", *SETS]
    assert WORKERS == ("review", "test", "optimize", "debug")
    assert [one.name for one in PRESETS.values() if one.style == "react"] == ["react"]
