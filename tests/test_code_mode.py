"""The tasks of `bench.code_mode`: a program leaves and prints what single calls do."""

import pytest

from bench.code_mode import TASKS, run_program, run_singly


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_program_does_what_single_calls_do(name):
    program, single = run_program(TASKS[name]), run_singly(TASKS[name])
    assert program.answer
    assert (program.answer, program.files) == (single.answer, single.files)
