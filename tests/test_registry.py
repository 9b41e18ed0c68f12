"""A thread-safe collection of tools."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll import Effect, tool
from toolroll import tools as builtin
from toolroll.registry import Registry, discover


def named(name, effects=Effect.READ):
    def function(x: int = 1) -> str:
        """Does nothing."""
        return str(x)

    return tool(effects, name=name)(function)


def test_register_get_all_names_unregister():
    registry = Registry()
    a, b = named("a"), named("b")
    registry.register(a)
    registry.register(b)
    assert (registry.get("a"), registry.get("c")) == (a, None)
    assert registry.all() == [a, b]
    assert registry.names() == ["a", "b"]
    assert (registry.unregister("a"), registry.unregister("a")) == (True, False)
    assert registry.names() == ["b"]


def test_a_name_that_is_taken_is_refused():
    registry = Registry([named("a")])
    with pytest.raises(ValueError, match="Tool with name 'a' is already registered"):
        registry.register(named("a"))


def test_filter_keeps_the_order_of_names_and_drops_unknown_ones():
    a, b, c = named("a"), named("b"), named("c")
    assert Registry([a, b, c]).filter(["c", "nope", "a"]) == [c, a]


def test_safe_tools_only_look():
    effects = [Effect.READ, Effect.NONE, Effect.WRITE, Effect.READ | Effect.NETWORK, Effect.RUN]
    registry = Registry(named(str(number), effect) for number, effect in enumerate(effects))
    assert [one.name for one in registry.safe()] == ["0", "1"]


def test_metadata():
    found = Registry([named("a")]).metadata("a")
    assert (found.name, found.category, found.description, found.safe) == (
        "a",
        "custom",
        "Does nothing.",
        True,
    )
    assert Registry().metadata("a") is None


def test_the_built_in_tools_are_discovered_with_their_category():
    found = {one.name: one.category for one in discover(builtin)}
    assert found.items() >= {"read": "files", "edit": "files", "grep": "search"}.items()


def test_many_threads_register_one_name_once():
    registry, wins, start = Registry(), [], threading.Barrier(8)

    def attempt(_):
        start.wait()
        for number in range(50):
            try:
                registry.register(named(f"t{number}"))
                wins.append(number)
            except ValueError:
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, range(8)))
    assert sorted(wins) == list(range(50))
    assert len(registry.names()) == 50
