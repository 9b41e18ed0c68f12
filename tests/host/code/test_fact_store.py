import sqlite3
import threading
from contextlib import closing

import msgspec
import pytest

from toolroll.host.code.fact_store import FactStore
from toolroll.host.runtime.state import State
from toolroll.text.code.map.file_facts import FileFacts

ONE = FileFacts({"cat": 1}, {"dog": 2}, ("Dog",), {"Cat": 3}, b"marks", 7)
PACKED = msgspec.msgpack.encode(ONE)
STAMP = (1, 2, 3, 4, 5)


def parts(facts):
    return [getattr(facts, name) for name in FileFacts.__slots__]


@pytest.fixture
def opened(state):
    """Open store of the same state; all are closed in the end."""
    store = []

    def make():
        store.append(FactStore(state))
        return store[-1]

    yield make
    for one in store:
        one.close()


def base(state):
    return f"{state.path}/atlas/sheets-2.sqlite"


def test_what_is_kept_is_there_for_the_next(state):
    first = FactStore(state)
    first.put({b"k": PACKED}, {"a/ü.py": (STAMP, b"k")})
    assert parts(first.get([b"k", b"other"])[b"k"]) == parts(ONE)
    first.close()
    second = FactStore(state)
    assert second.places() == {"a/ü.py": (STAMP, b"k")}
    found = second.get([b"k", b"other"])
    assert found.keys() == {b"k"}
    assert parts(found[b"k"]) == parts(ONE)
    second.close()


def test_a_new_state_of_a_path_takes_the_place_of_the_old(state):
    store = FactStore(state)
    store.put({b"k": PACKED}, {"a": (STAMP, b"k")})
    store.put({b"n": PACKED}, {"a": (STAMP[::-1], b"n")})
    assert store.places() == {"a": (STAMP[::-1], b"n")}
    store.close()


def test_nothing_is_made_before_something_is_asked(tmp_path):
    FactStore(State(str(tmp_path / "state"))).close()
    assert not (tmp_path / "state").exists()


def test_a_file_that_is_no_database_is_made_anew(state, opened):
    state.folder("atlas")
    with open(base(state), "wb") as file:
        file.write(b"no database " * 1000)
    with closing(sqlite3.connect(base(state))) as rows, pytest.raises(sqlite3.DatabaseError):
        rows.execute("select * from sheets")
    store = FactStore(state)
    store.put({b"k": PACKED}, {"a": (STAMP, b"k")})
    store.close()
    assert opened().places() == {"a": (STAMP, b"k")}


def test_half_a_row_is_none(state, opened):
    store = FactStore(state)
    store.put({b"k": PACKED, b"l": PACKED}, {})
    store.close()
    with closing(sqlite3.connect(base(state))) as rows, rows:
        rows.execute("update sheets set data = substr(data, 1, 5) where key = ?", (b"k",))
    assert opened().get([b"k", b"l"]).keys() == {b"l"}


def test_without_a_place_to_keep_them_facts_are_held_in_memory(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "atlas").write_text("in the way")
    store = FactStore(State(str(tmp_path / "state")))
    store.put({b"k": PACKED}, {"a": (STAMP, b"k")})
    assert store.get([b"k"]).keys() == {b"k"}
    assert store.places() == {"a": (STAMP, b"k")}
    store.close()


def test_what_is_long_gone_is_forgotten(state, opened):
    store = FactStore(state)
    keys = {f"{number}".encode(): PACKED for number in range(2500)}
    store.put(keys, {f"p{number}": (STAMP, key) for number, key in enumerate(keys)})
    store.tidy([f"p{number}" for number in range(1000)])
    assert len(store.places()) == 2500  # few enough to keep for when they come back
    store.tidy(["p0", "p1"])
    assert store.places().keys() == {"p0", "p1"}
    store.close()
    assert opened().get(keys).keys() == {b"0", b"1"}


def test_several_at_a_time_lose_nothing(state, opened):
    def work(number):
        store = FactStore(state)
        for turn in range(10):
            key = f"{number} {turn}".encode()
            store.put({key: PACKED, b"shared": PACKED}, {key.decode(): (STAMP, key)})
        store.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened().places()) == 40
