import random

import pytest

from toolroll.text.code.map.graph import Graph


def made(files):
    graph = Graph()
    for path, (defined, used) in files.items():
        graph.put(path, defined, used)
    return graph


def order(shares):
    return sorted(shares, key=lambda path: (-shares[path], path))


CORE = {
    "core": (["Engine"], {}),
    "a": (["Alpha"], {"Engine": 3}),
    "b": (["Beta"], {"Engine": 1, "Alpha": 1}),
    "lonely": (["Nothing"], {}),
}


def test_weight_flows_to_what_is_used():
    shares = made(CORE).rank()
    assert order(shares) == ["core", "a", "b", "lonely"]
    assert sum(shares.values()) == pytest.approx(1)


def test_weight_that_starts_in_a_file_stays_near_it():
    graph = made(CORE | {"far": (["Far"], {"Nothing": 9})})
    assert graph.rank_from({"b": 1.0}).keys() == {"b", "a", "core"}
    assert graph.rank_from({"far": 1.0}, rounds=1).keys() == {"far", "lonely"}
    assert graph.rank_from({"gone": 1.0}) == {}


def test_a_name_of_its_own_is_no_use_of_another_file():
    shares = made({"a": (["run"], {"run": 5}), "b": (["run"], {}), "c": ([], {})}).rank()
    assert shares["b"] == pytest.approx(shares["c"])


def test_names_that_tell_nothing_make_no_edges():
    files = {f"f{number}": (["get", "go"], {}) for number in range(21)}
    shares = made(files | {"user": ([], {"get": 1, "go": 1})}).rank()
    assert len({round(share, 9) for share in shares.values()}) == 1


def test_users_are_counted_by_file():
    graph = made(CORE)
    assert (graph.users("Engine"), graph.users("Alpha"), graph.users("none")) == (2, 1, 0)
    graph.drop("b")
    assert (graph.users("Engine"), graph.users("Alpha")) == (1, 0)


def test_what_is_changed_step_by_step_is_as_if_made_at_once():
    chance = random.Random(3)
    graph, files = Graph(), {}
    for _ in range(300):
        path = f"f{chance.randrange(20)}"
        if path in files and chance.random() < 0.2:
            graph.drop(path)
            del files[path]
        else:
            defined = [f"name{chance.randrange(30)}" for _ in range(3)]
            used = {f"name{chance.randrange(30)}": chance.randrange(1, 5) for _ in range(4)}
            files[path] = (defined if chance.random() < 0.7 or path not in files else files[path][0], used)
            graph.put(path, *files[path])
        if chance.random() < 0.1:
            graph.rank()
    assert graph.rank() == pytest.approx(made(files).rank(), abs=1e-9)


def test_nothing_is_ranked_in_an_empty_graph():
    assert Graph().rank() == {}
