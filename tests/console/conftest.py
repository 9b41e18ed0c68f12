"""One console for the tests of a module, with a run folder of its own."""

from collections.abc import Iterator

import pytest

from tests.console.processes import ConsoleClient, running_console


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with running_console() as client:
            yield client
