"""Each test of `policy` runs under an audit hook: code there computes and touches nothing."""

import pytest

from tests.purity import watch_purity

pure = pytest.fixture(autouse=True)(watch_purity)
