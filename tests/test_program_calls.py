"""What a program uses beside the tools: commands with bytes, files as bytes."""

import asyncio
import threading

import pytest

from toolroll import CancelToken, Executed, Policy, ToolError
from toolroll.result import ErrorCode

BYTES = bytes(range(256)) * 8192  # more than a pipe holds


def test_bytes_go_in_and_come_out(open_kit, put):
    put({"d/x": ""})
    kit = open_kit()
    done = kit.exec('cat; pwd | tail -c 2; printf %s "$NAME" >&2; exit 3', stdin=BYTES, env={"NAME": "a b"}, cwd="d")
    assert (done.stdout, done.stderr, done.code) == (BYTES + b"d\n", b"a b", 3)
    assert (done.outcome, done.truncated) == ("exited", False)


def test_words_need_no_shell(kit):
    assert kit.exec(["printf", "%s|", "a b", "$HOME", ";"]).stdout == b"a b|$HOME|;|"


def test_what_it_changes_is_known_and_can_be_undone(kit, ws):
    done = kit.exec(["cp", "/dev/stdin", "a b"], stdin=b"x\n")
    assert list(map(str, done.changes)) == ["a b (new)"]
    assert [one["said"] for one in kit.call("history").data["calls"]] == ["cp /dev/stdin 'a b'"]
    assert kit.undo().ok
    assert not (ws / "a b").exists()
    assert kit.exec("ls").changes == []


def test_commands_share_tmp_only_where_it_holds_no_workspace(open_kit, bubblewrap):
    assert not open_kit(policy=Policy()).share_temp()  # that one is in /tmp


def test_it_reads_nothing_unless_it_is_given(kit):
    assert kit.exec(["cat"]).stdout == b""


def test_the_limit_is_for_each_stream(kit):
    done = kit.exec("printf 123456; printf 1234 >&2", limit=4)
    assert (done.stdout, done.stderr, done.truncated) == (b"1234", b"1234", True)
    assert not kit.exec("printf 1234", limit=4).truncated


def test_time_runs_out(kit):
    done = kit.exec("printf begun; sleep 30", timeout=2)
    assert (done.stdout, done.outcome, done.code) == (b"begun", "timed_out", 137)


@pytest.mark.parametrize(
    ("command", "more", "code"),
    [
        ("sudo true", {}, "SecurityError"),
        (["sudo", "true"], {}, "SecurityError"),
        ("true", {"cwd": ".."}, "SecurityError"),
        ("true", {"cwd": "nowhere"}, "NotFound"),
        ("true", {"env": {"A=B": ""}}, "ValidationError"),
        ("true", {"env": {"A": "\0"}}, "ValidationError"),
        ("", {}, "ValidationError"),
        ([], {}, "ValidationError"),
        (["a\0b"], {}, "ValidationError"),
    ],
)
def test_what_bash_is_refused_is_refused_here(kit, command, more, code):
    with pytest.raises(ToolError) as caught:
        kit.exec(command, **more)
    assert caught.value.code == code


def test_what_must_be_looked_at_first_runs_in_a_fork(open_kit, ws):
    kit = open_kit(policy=Policy(commit="ask"))
    for command in ("touch new", ["touch", "new"]):
        with pytest.raises(ToolError, match="all changes of commands need approval") as caught:
            kit.exec(command)
        assert caught.value.code == ErrorCode.PERMISSION
    assert kit.exec("ls").code == 0
    with kit.fork("copy") as trial:
        assert trial.exec("touch new").code == 0
        assert [one.path for one in trial.changes()] == ["new"]
    assert not (ws / "new").exists()


def test_it_can_be_cancelled(kit):
    token = CancelToken()
    threading.Timer(0.3, token.cancel).start()
    with pytest.raises(ToolError, match="cancelled"):
        kit.exec("sleep 30", token=token)


def test_asynchronously(kit):
    async def several():
        done = await asyncio.gather(*(kit.aexec(["printf", text]) for text in "ab"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(kit.aexec("sleep 30"), 0.3)
        return [one.stdout for one in done]

    assert asyncio.run(several()) == [b"a", b"b"]


def test_calls_are_recorded(kit):
    kit.exec("printf x", env={"SECRET": "s3cret"})
    kit.write_bytes("a", b"")
    with pytest.raises(ToolError):
        kit.read_bytes("b")
    assert [(one.name, one.status) for one in kit.calls()] == [
        ("exec", "success"), ("write_bytes", "success"), ("read_bytes", "error"),
    ]  # fmt: skip
    assert kit.call("history", {"limit": 2}).data["calls"][0]["said"] == "printf x"


class Elsewhere:
    """Commands of another machine."""

    def run(self, command, *, cwd, seconds, cancelled):  # noqa: ARG002
        if command == "sleep":
            raise TimeoutError
        return Executed(4, command.encode(), cwd.encode())


def test_commands_elsewhere(open_kit):
    kit = open_kit(commands=Elsewhere())
    done = kit.exec(["echo", "a b"], limit=7)
    assert (done.stdout, done.stderr, done.code, done.truncated) == (b"echo 'a", b".", 4, True)
    assert (kit.exec("sleep").outcome, kit.exec("sleep").code) == ("timed_out", None)
    with pytest.raises(ToolError, match="run elsewhere"):
        kit.exec("cat", stdin=b"x")


def test_files_as_bytes(kit, ws):
    assert str(kit.write_bytes("d/a", BYTES)) == "d/a (new)"
    assert kit.read_bytes("d/a") == BYTES == (ws / "d/a").read_bytes()
    assert kit.write_bytes("d/a", BYTES) is None
    (ws / "d/a").write_bytes(b"theirs")
    with pytest.raises(ToolError, match="was modified since"):
        kit.write_bytes("d/a", b"ours")
    assert kit.read_bytes("d/a") == b"theirs"
    assert kit.write_bytes("d/a", b"ours").kind == "modified"
    kit.undo()
    assert (ws / "d/a").read_bytes() == b"theirs"


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", ".git/config"])
def test_where_nothing_is_written(kit, path):
    with pytest.raises(ToolError):
        kit.write_bytes(path, b"x")
