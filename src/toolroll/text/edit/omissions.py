"""Find lines that stand for code which the writer left out, such as `# ... rest of code unchanged ...`."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolroll.result import ErrorCode, ToolError

_DOTS = r"(?:\.\.\.|\u2026)"
_OMISSION = re.compile(
    rf"""\s* (?: [(\[] | {_DOTS} | (?: \#+ | //+ | --+ | /\*+ | <!-- | \{{/\* | ;+ | %+ ) [ ]? ) \s*
    [(\[]? \s* {_DOTS}? \s* (?:(?:the|all|keep|and)\s+)*
    (?: rest | remainder | remaining | existing | previous | other | unchanged | same | omitted ) \b
    [\w\s,'/()-]* {_DOTS}? \s* [)\]]? \s* (?: \*/\}}? | --> )? \s*""",
    re.VERBOSE | re.IGNORECASE,
)
_WHAT = re.compile(
    r"code|method|function|content|file|implementation|class|logic|import|line|test|field|propert|unchanged|same|before",
    re.IGNORECASE,
)
_PROSE = (".md", ".mdx", ".rst", ".txt", ".adoc")  # may well speak about such lines
_LONGEST = 200


def check(new: str, text: Callable[[], str], path: str) -> None:
    """Raise ToolError if the new text of a file has such a line, and its text does not."""
    if ("..." not in new and "\u2026" not in new) or path.lower().endswith(_PROSE):
        return
    for number, line in enumerate(new.split("\n"), 1):
        bare = line.strip()
        dots = "..." in bare or "\u2026" in bare
        if dots and len(bare) <= _LONGEST and _OMISSION.fullmatch(bare) and _WHAT.search(bare) and bare not in text():
            raise ToolError(
                ErrorCode.VALIDATION,
                f"Line {number} of the new text, {bare!r}, stands for code that is left out, and would replace it. "
                "Write that code, or change a smaller part with `edit`.",
                details={"line": number},
            )
