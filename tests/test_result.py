"""One table turns exceptions into agent errors; what is not in it is a system error."""

import errno
import pickle

import pytest

from toolroll import ErrorCode, Result, Suggestion, ToolError
from toolroll.result import as_tool_error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a"), "NotFound"),
        (FileExistsError(errno.EEXIST, "File exists"), "Conflict"),
        (IsADirectoryError(errno.EISDIR, "Is a directory"), "ValidationError"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), "ValidationError"),
        (PermissionError(errno.EACCES, "Permission denied"), "PermissionDenied"),
        (TimeoutError(), "TimeoutError"),
        (ConnectionRefusedError(), "NetworkError"),
        (OSError(errno.ELOOP, "Too many links"), "ValidationError"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), "ValidationError"),
        (OSError(errno.ENOTEMPTY, "Directory not empty"), "Conflict"),
        (OSError(errno.EROFS, "Read-only file system"), "PermissionDenied"),
        (ToolError("Conflict", "x"), "Conflict"),
        (UnicodeEncodeError("utf-8", "a\ud800", 1, 2, "surrogates not allowed"), "ValidationError"),
    ],
)
def test_errors_the_model_can_act_on(error, code):
    assert as_tool_error(error).code == code


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOMEM, "No memory"),
        OSError(errno.EMFILE, "Too many files"),
        OSError(),
        KeyError("x"),
        MemoryError(),
    ],
)
def test_system_errors_are_nobodys_answer(error):
    assert as_tool_error(error) is None


def test_a_message_names_the_path():
    assert as_tool_error(FileNotFoundError(2, "No such file or directory", "a")).message == (
        "No such file or directory: 'a'."
    )


def test_an_error_code_is_one_of_the_twelve():
    with pytest.raises(ValueError, match="Oops"):
        ToolError("Oops", "x")
    assert len(ErrorCode) == 12


def test_an_error_goes_from_one_process_to_another():
    error = ToolError("Conflict", "x", details={"a": 1}, suggest=(Suggestion("read", {"path": "b"}),))
    there = pickle.loads(pickle.dumps(error))
    assert (type(there), str(there), vars(there)) == (ToolError, "x", vars(error))


@pytest.mark.parametrize(("status", "ok"), [("success", True), ("partial", True), ("error", False)])
def test_ok_is_everything_but_an_error(status, ok):
    assert Result(status, "").ok is ok
