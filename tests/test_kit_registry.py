"""The registry of a kit, by the methods of the registries of the five documents."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll import Effect, Kit, tool
from toolroll.registry import Registry
from toolroll.tool import Metadata


def named(name, effects=Effect.READ):
    def function(x: int = 1) -> str:
        """Does nothing."""
        return str(x)

    return tool(effects, name=name)(function)


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
