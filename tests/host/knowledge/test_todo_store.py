"""Todo lists on disk: one a session, found again, and whole whoever writes at once."""

import os

import pytest

from toolroll import ToolError
from toolroll.host.knowledge.todo_store import TodoFile
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State
from toolroll.text.knowledge.todos import Item, Todo, written

ONE = (Todo("a", "pending", "medium", "1"),)


def put(state, session, todos=ONE, anew=True):
    return TodoFile(state, session, CancelToken()).change(lambda _: todos, anew=anew)


def get(state, session):
    return TodoFile(state, session, CancelToken()).read()


def test_nothing_is_made_before_something_is_kept(state):
    assert get(state, "s") == ()
    assert not os.path.exists(state.path)


def test_a_list_is_found_again(state, tmp_path):
    assert put(state, "s") == ONE
    state.close()
    assert get(State(state.path), "s") == ONE
    assert sorted(os.listdir(tmp_path / "state/todos")) == ["lock", "s.json"]
    assert oct((tmp_path / "state/todos/s.json").stat().st_mode)[-3:] == "600"


SESSIONS = ["", "a", "A", "a.json", "../../x", "/etc/x", ".hidden", "a/b", "lock", "~", "\0", "x" * 300, "\u65e5", "-a"]


def test_every_session_has_its_own_and_none_leaves_the_folder(state, tmp_path):
    for number, session in enumerate(SESSIONS):
        put(state, session, (Todo(str(number), "pending", "low", "1"),))
    assert [get(state, session)[0].content for session in SESSIONS] == [str(one) for one in range(len(SESSIONS))]
    assert sorted(os.listdir(tmp_path)) == ["state"]
    names = {name.casefold() for name in os.listdir(tmp_path / "state/todos")}
    assert len(names) == len(SESSIONS) + 1


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[]", b'{"session": "s", "todos": [{"content": 1}]}'])
def test_a_broken_list_is_told_of_and_can_be_written_anew(state, tmp_path, data):
    put(state, "s")
    (tmp_path / "state/todos/s.json").write_bytes(data)
    for work in (lambda: get(state, "s"), lambda: put(state, "s", anew=False)):
        with pytest.raises(ToolError, match=r"is broken.*Write the whole list anew") as caught:
            work()
        assert caught.value.code == "IOError"
    assert (tmp_path / "state/todos/s.json").read_bytes() == data
    put(state, "s")
    assert get(state, "s") == ONE


def test_what_fails_leaves_the_list(state, tmp_path):
    put(state, "s")
    with pytest.raises(ToolError):
        TodoFile(state, "s", CancelToken()).change(lambda kept: written(kept, [Item()], merge=True), anew=False)
    with pytest.raises(UnicodeEncodeError):
        put(state, "s", (Todo("\ud800", "pending", "low", "1"),))
    (tmp_path / "state/todos/.new").write_text("left by a process that was killed")
    assert get(state, "s") == ONE
    put(state, "t")
    assert sorted(os.listdir(tmp_path / "state/todos")) == ["lock", "s.json", "t.json"]


def test_the_oldest_lists_go(state, tmp_path):
    put(state, "last")
    folder = tmp_path / "state/todos"
    for number in range(1005):
        (folder / f"{number}.json").write_bytes(b"{}")
        os.utime(folder / f"{number}.json", (number, number))
    put(state, "last")
    kept = {name for name in os.listdir(folder) if name != "lock"}
    assert kept == {"last.json", *(f"{number}.json" for number in range(6, 1005))}


WRITER = """
import sys
from toolroll.host.runtime.state import State
from toolroll.host.knowledge.todo_store import TodoFile
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.text.knowledge.todos import Item, written
file = TodoFile(State(sys.argv[1]), "s", CancelToken())
known = file.read()
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    item = Item(f"{sys.argv[2]} {number}")
    made = (lambda kept: written(kept, [item], merge=True)) if sys.argv[4] == "safe" else (lambda _: written(known, [item], merge=True))
    file.change(made, anew=False)
"""


@pytest.mark.parametrize(("way", "count"), [("safe", 25), ("naive", 1)])
def test_two_processes_lose_nothing(state, at_once, way, count):
    at_once(WRITER, *((state.path, name, str(count), way) for name in "ab"))
    todos = get(state, "s")
    every = {f"{name} {number}" for name in "ab" for number in range(count)}
    assert ({todo.content for todo in todos} == every) is (way == "safe")
    assert len({todo.id for todo in todos}) == len(todos)
