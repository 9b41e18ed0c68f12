"""codex: the shapes that Codex's published definitions and results have, beyond names."""

import re

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def call(open_kit):
    kit = open_kit("codex")
    return lambda name, **arguments: kit.call(name, arguments)


def test_a_command_is_given_as_words(call):
    ran = call("shell", command=["bash", "-lc", "echo out; exit 3"], workdir=".")
    assert re.fullmatch(r"Exit code: 3\nWall time: [\d.]+ seconds\nOutput:\nout\n", ran.text)
    assert call("shell", command=["echo", "a b", "$HOME"]).text.endswith("Output:\na b $HOME\n")


def test_a_command_that_takes_too_long_says_so(call):
    ran = call("shell", command=["sleep", "20"], timeout_ms=300, justification="none")
    assert re.search(r"Output:\ncommand timed out after \d+ milliseconds\n", ran.text)


def test_a_command_that_ends_in_time_gives_its_exit_code(call):
    ran = call("exec_command", cmd="echo out; exit 3", login=True, sandbox_permissions="use_default")
    assert re.fullmatch(r"Wall time: [\d.]+ seconds\nProcess exited with code 3\nOutput:\nout\n", ran.text)
    assert ran.data == {"wall_time_seconds": ran.data["wall_time_seconds"], "exit_code": 3, "output": "out\n"}


def test_a_session_is_written_to_and_shows_each_output_once(call):
    begun = call("exec_command", cmd="echo begun; while read x; do echo got $x; done", tty=True, yield_time_ms=300)
    assert re.fullmatch(r"Wall time: [\d.]+ seconds\nProcess running with session ID 1\nOutput:\nbegun", begun.text)
    written = call("write_stdin", session_id=1, chars="a\n", yield_time_ms=400)
    assert (written.data["session_id"], written.data["output"]) == (1, "a\ngot a\n")  # a terminal echoes
    assert call("write_stdin", session_id=1).data["output"] == ""


def test_without_tty_a_command_reads_nothing(call):
    assert call("exec_command", cmd="cat; sleep 5", yield_time_ms=250).data["session_id"] == 1
    assert "reads no input" in call("write_stdin", session_id=1, chars="a\n").text


def test_output_is_held_to_the_budget_of_tokens(call):
    assert len(call("exec_command", cmd="seq 10000", max_output_tokens=50).data["output"]) <= 200
    assert 39_000 < len(call("exec_command", cmd="seq 100000").data["output"]) <= 40_000


def test_a_patch_tells_what_it_did_to_which_file(call, put, ws):
    put({"a.txt": "one\n", "b.txt": "x\n"})
    body = "*** Add File: n.txt\n+new\n*** Update File: a.txt\n@@\n-one\n+two\n*** Delete File: b.txt\n"
    done = call("apply_patch", input=f"*** Begin Patch\n{body}*** End Patch")
    assert done.text == "Success. Updated the following files:\nA n.txt\nM a.txt\nD b.txt"
    assert ((ws / "a.txt").read_text(), (ws / "n.txt").read_text(), (ws / "b.txt").exists()) == (
        "two\n",
        "new\n",
        False,
    )


ADD = "*** Begin Patch\n*** Add File: n.txt\n+hi\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "made"),
    [
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{ADD}\nEOF"}, "n.txt"),
        ("exec_command", {"cmd": f"cd sub && apply_patch <<'EOF'\n{ADD}\nEOF"}, "sub/n.txt"),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{ADD}\nEOF", "workdir": "sub"}, "sub/n.txt"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{ADD}\nEOF"]}, "n.txt"),
        ("shell", {"command": ["apply_patch", ADD]}, "n.txt"),
    ],
)
def test_a_patch_as_a_command_is_applied_and_recorded(open_kit, put, ws, name, arguments, made):
    put({"sub/a.txt": ""})
    with open_kit("codex") as kit:
        applied = kit.call(name, arguments)
        assert applied.text == f"Success. Updated the following files:\nA {made}"
        assert f"{name} read as apply_patch" in applied.meta["coerced"]
        assert (ws / made).read_text() == "hi\n"
        kit.undo()
    assert not (ws / made).exists()


def test_a_patch_as_a_command_that_is_cut_off_writes_nothing(call, ws):
    cut = call("exec_command", cmd=f"apply_patch <<'EOF'\n{ADD[:40]}")
    assert "cut off" in cut.text
    assert list(ws.iterdir()) == []


def test_a_patch_needs_no_read_after_a_command(call, put, ws):
    put({"a.txt": "one\ntwo\n"})
    update = "*** Begin Patch\n*** Update File: a.txt\n@@\n-{}\n+{}\n*** End Patch"
    assert call("apply_patch", input=update.format("one", "1")).ok
    call("exec_command", cmd="echo three >> a.txt")
    assert call("apply_patch", input=update.format("two", "2")).ok
    assert (ws / "a.txt").read_text() == "1\n2\nthree\n"


def test_the_plan_is_a_list_of_steps(call):
    plan = [{"step": "Test", "status": "in_progress"}, {"step": "Land", "status": "pending"}]
    assert call("update_plan", plan=plan, explanation="Begin").text == "Plan updated"
    assert call("update_plan", plan=[{"step": "Test"}]).error.code == "ValidationError"


def test_only_images_are_viewed(call, put):
    put({"a.png": PNG, "a.txt": "text"})
    assert call("view_image", path="a.png", detail="high").images[0].data == PNG
    assert call("view_image", path="a.txt").error.code == "Unsupported"
    assert call("view_image", path="a.png", detail="low").error.code == "ValidationError"
