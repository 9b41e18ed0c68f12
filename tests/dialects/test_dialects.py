"""The front of the dialects: every file is found, loaded and checked."""

import pytest

from toolroll import dialects


@pytest.mark.parametrize("name", dialects.names())
def test_every_dialect_loads_under_its_own_name(name):
    assert dialects.load(name).name == name


def test_an_unknown_name_is_answered_with_those_that_exist():
    with pytest.raises(ValueError, match=f"no dialect 'klingon'. There are: {', '.join(dialects.names())}"):
        dialects.load("klingon")


@pytest.mark.parametrize(
    ("entries", "profile", "fault"),
    [
        ('View("look", grep, {"path": "--i"})', "", "look: the parameter '--i' cannot be passed on the command line"),
        ('View("look", grep)', 'guard="sometimes"', "A profile's guard is 'sometimes'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_name_and_the_fault(tmp_path, monkeypatch, entries, profile, fault):
    (tmp_path / "wrong_one.py").write_text(
        "from toolroll.dialect import Dialect, Profile, View\n"
        "from toolroll.tools.search.grep import grep\n"
        f'DIALECT = Dialect("wrong-one", "About.", entries=({entries},), profile=Profile({profile}))\n'
    )
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path)])
    monkeypatch.setattr(dialects, "_OWN", ["wrong-one"])
    with pytest.raises(ValueError, match=f"^The dialect 'wrong-one' cannot be loaded: {fault}"):
        dialects.load("wrong-one")
