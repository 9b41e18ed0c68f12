"""What is true of every value that is handed around."""

from dataclasses import is_dataclass
from functools import cached_property
from types import ModuleType


def assert_values(module: ModuleType, *changing: str) -> None:
    """No field of a dataclass of this module can be set, but of those that are named, and no attribute be added."""
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    found = [one for one in classes if is_dataclass(one)]
    assert found
    assert {one.__name__ for one in found if not one.__dataclass_params__.frozen} == set(changing)
    kept = {one for one in found if any(isinstance(value, cached_property) for value in vars(one).values())}
    assert {one for one in found if "__slots__" not in vars(one)} == kept
