"""Jobs as the console shows them: state, output from an offset, the screen of a terminal, keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.control.acts import act
from tests.waiting import until
from toolroll import Kit, ToolError
from toolroll.control.views import show


def start(kit: Kit, command: str, **more: Any) -> int:
    result = kit.call("bash", {"command": command, "background": True, **more})
    assert result.ok, result.text
    return int(result.data["job"])


def test_output_is_read_by_offset_and_the_model_sees_it_as_before(kit: Kit) -> None:
    id = start(kit, "printf 'one\\n'; read line; echo got $line; seq 20000")
    until(lambda: show(kit, "job_output", {"id": id, "after": 0})["next"] == 4)
    (row,) = show(kit, "jobs", {})["jobs"]
    assert (row["id"], row["status"], row["terminal"]) == (id, "running", False)
    assert row["title"] == row["command"] == "printf 'one\\n'; read line; echo got $line; seq 20000"
    assert act(kit, "job_keys", id=id, text="it\n")["ok"]
    until(lambda: show(kit, "job_output", {"id": id})["ended"])
    assert show(kit, "jobs", {})["jobs"][0]["status"] == "exited with 0"
    text, after, ended = "", 4, False
    while not ended:
        part = show(kit, "job_output", {"id": id, "after": after})
        assert part["next"] > after
        text, after, ended = text + part["text"], part["next"], part["ended"]
    assert text == "got it\n" + "".join(f"{number}\n" for number in range(1, 20001))
    tail = show(kit, "job_output", {"id": id})
    assert (tail["text"].endswith("20000\n"), tail["ended"], tail["skipped"] > 0) == (True, True, True)
    assert kit.call("job", {"action": "output", "id": id, "offset": 0}).text.startswith("one\n")
    assert kit.context().commands.jobs.get(id).seen > 0


def test_a_terminal_is_its_screen_and_takes_keys(kit: Kit) -> None:
    pytest.importorskip("pyte")
    id = start(kit, "printf '\\033[2J\\033[3;5Hmenu'; read -r x; echo; echo \"[$x]\"; sleep 60", tty=True)
    until(lambda: "menu" in show(kit, "job_output", {"id": id})["text"])
    assert show(kit, "job_output", {"id": id})["text"] == "\n\n    menu"
    act(kit, "job_keys", id=id, text="yes", keys=["enter"])
    until(lambda: "[yes]" in show(kit, "job_output", {"id": id, "after": 3})["text"])
    with pytest.raises(ToolError, match="There is no key 'hyper'"):
        act(kit, "job_keys", id=id, keys=["hyper"])
    assert act(kit, "job_stop", id=id) == {"ok": True, "text": f"Job {id}: killed."}
    assert show(kit, "job_output", {"id": id})["ended"]
    assert show(kit, "jobs", {})["jobs"][0]["terminal"]


def test_a_job_that_is_not_there(kit: Kit) -> None:
    for method in ("job_output", "job_keys", "job_stop"):
        with pytest.raises(ToolError, match=r"There is no job 7\. There are none\."):
            show(kit, method, {"id": 7} if method == "job_output" else {"id": 7, "digest": ""})


def test_an_act_on_another_job_is_refused(kit: Kit) -> None:
    first, second = start(kit, "cat"), start(kit, "cat")
    shown = {one["id"]: one["digest"] for one in show(kit, "jobs", {})["jobs"]}
    assert shown[first] != shown[second]  # the same command, another job
    for method in ("job_keys", "job_stop"):
        with pytest.raises(ToolError, match=f"Job {second} is not what was shown"):
            show(kit, method, {"id": second, "digest": shown[first]})
    assert [one["status"] for one in show(kit, "jobs", {})["jobs"]] == ["running", "running"]


def test_keys_of_a_person_are_not_asked_about(open_kit: Callable[..., Kit]) -> None:
    asked: list[Any] = []

    def approve(request: Any) -> bool:
        asked.append(request.runs)
        return request.runs == ("cat",)

    kit = open_kit(policy="ask", approve=approve)
    id = start(kit, "cat")
    before = len(asked)
    assert act(kit, "job_keys", id=id, text="x\n")["ok"]
    until(lambda: show(kit, "job_output", {"id": id})["text"] == "x\n")
    assert len(asked) == before
    assert not kit.call("job", {"action": "input", "id": id, "input": "y\n"}).ok
