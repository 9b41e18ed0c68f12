"""Files that could not be converted are known by their content, as long as that lies in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolroll import ErrorCode, ToolError
from toolroll.host.convert.failure_cache import FailureCache
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State


@pytest.mark.parametrize(
    ("code", "lasts"),
    [
        (ErrorCode.VALIDATION, True),
        (ErrorCode.TOO_LARGE, True),
        (ErrorCode.PERMISSION, True),
        (ErrorCode.UNSUPPORTED, False),
        (ErrorCode.CANCELLED, False),
        (ErrorCode.TIMEOUT, False),
    ],
)
def test_what_lasts_is_known_to_the_next_process(tmp_path: Path, code: ErrorCode, lasts: bool) -> None:
    FailureCache(State(str(tmp_path)), CancelToken()).keep("d1", "pdf", ToolError(code, "no"))
    again = FailureCache(State(str(tmp_path)), CancelToken())
    again.check("d2", "pdf", "a.pdf")
    again.check("d1", "image", "a.pdf")
    if not lasts:
        again.check("d1", "pdf", "a.pdf")
        return
    with pytest.raises(ToolError, match=r"'a\.pdf' could not be read before\. Add it by its own name") as caught:
        again.check("d1", "pdf", "a.pdf")
    assert caught.value.code is code
