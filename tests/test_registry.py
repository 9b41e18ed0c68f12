"""A thread-safe collection of tools."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll import Effect, Kit, tool
from toolroll import tools as builtin
from toolroll.registry import Registry, discover
from toolroll.tool import Metadata


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


# The methods of the five documents' registries, on the registry of a kit.

DOCUMENTS = {
    "cdd": lambda kit, tool, call: [
        kit.registry.register(tool, Metadata(tool.name, "mine", "Adds.", True)),  # Register(tool, meta)
        call(kit.registry.get(tool.name)),
        tool.name in [known.name for known in kit.registry.all()],
        [known.name for known in kit.registry.filter([tool.name, "none"])] == [tool.name],
        tool.name in [known.name for known in kit.registry.safe()],
        kit.registry.metadata(tool.name) == Metadata(tool.name, "mine", "Adds.", True),
        tool.name in kit.registry.names(),
        Registry().names() == [],  # NewRegistry()
    ],
    "fosscode": lambda kit, tool, call: [
        kit.registry.register(tool),
        call(kit.registry.get(tool.name)),
        kit.registry.get(tool.name).parameters == [{"name": "x", "required": False, "type": "integer", "default": 1}],
        tool.name in [known.name for known in kit.registry.all()],
        kit.registry.unregister(tool.name) and kit.registry.get(tool.name) is None,
        not kit.registry.unregister(tool.name),
    ],
    "coding-agent": lambda kit, tool, call: [
        kit.registry.register(tool),
        call(kit.registry.get(tool.name)),
        kit.registry.get(tool.name).schema["properties"]["x"]["type"] == "integer",
        tool.name in kit.registry.names(),
    ],
    "koopa": lambda kit, tool, call: [
        kit.registry.register(tool),
        tool.name in [known.name for known in kit.registry.all()],
        call(kit.registry.get(tool.name)),
    ],
    "pigo": lambda kit, tool, call: [
        kit.registry.register(tool),
        call(kit.registry.get(tool.name)),
        kit.registry.execute(tool.name, {"x": 3}).text == "3",
        tool.name in [known["function"]["name"] for known in kit.registry.definitions()],
        tool.name in kit.registry.names(),
        kit.registry.validate(tool.name, {"x": 3}) == [] and kit.registry.validate(tool.name, {"x": {}}) != [],
    ],
}


@pytest.mark.parametrize("dialect", [*DOCUMENTS, "native"])
def test_the_registry_of_a_kit_acts_at_once_also_in_forty_threads(tmp_path, dialect):
    use, start = DOCUMENTS.get(dialect, DOCUMENTS["pigo"]), threading.Barrier(40)
    (tmp_path / "w").mkdir()
    with Kit(tmp_path / "w", dialect=dialect, state_dir=tmp_path / "state") as kit:
        before = kit.registry.names()

        def work(number):
            added = named(f"own_{number}", Effect.NONE)
            start.wait()
            passed = use(kit, added, lambda found: found(x=number).text == found({"x": number}).text == str(number))
            kit.registry.unregister(added.name)
            return passed[1:]

        with ThreadPoolExecutor(40) as pool:
            assert all(map(all, pool.map(work, range(40))))
        assert kit.registry.names() == before


def test_the_registry_of_a_kit_refuses_what_does_not_fit(tmp_path):
    with Kit(tmp_path, dialect="cdd") as kit:
        with pytest.raises(ValueError, match="'read' is already registered: the dialect cdd has it"):
            kit.registry.register(named("read"))
        with pytest.raises(ValueError, match="Metadata of 'run' is given for 'run', which is not safe: @tool"):
            kit.registry.register(named("run", Effect.RUN), Metadata("run", "system", "Runs.", True))
        assert "run" not in kit.registry.names()
        with pytest.raises(TypeError, match="one object or by name"):
            kit.registry.get("read")({"file_path": "a"}, file_path="a")
