"""One call of `tests` and its counts, for every toolchain."""

import pytest


@pytest.fixture
def run_tests(kit):
    """Call `tests`: how many passed, failed, were errors and were skipped, and the text."""

    def call(**arguments):
        result = kit.call("tests", {"timeout": 300, **arguments})
        counts = [(result.data or {}).get(one) for one in ("passed", "failed", "errors", "skipped")]
        return counts if result.ok else [], result.text

    return call
