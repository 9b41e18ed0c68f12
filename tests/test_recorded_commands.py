"""Recorded commands: which are chosen, and how a result is counted."""

import pytest

from bench.recorded_commands import CATEGORIES, RecordedOutcome, classify, draw_table, pick, run
from toolroll.result import ErrorCode, Fault, Result


def test_the_same_commands_are_chosen_each_time_by_category():
    rows = [f"git log -{number}" for number in range(50)] + ["sleep 9 &", "npx tsc", "ls | wc", "cat <<E\nE", "ls"]
    chosen = pick(rows)
    assert chosen == pick(reversed(rows))
    assert [name for name, _ in chosen] == ["backgrounds", "installs", "heredocs", *["git"] * 20, "pipes"]
    assert sum(count for count, _ in CATEGORIES.values()) == 100


@pytest.mark.parametrize(
    ("command", "data", "text", "kind"),
    [
        ("ls", {"exit_code": 0}, "", "works"),
        ("make", {"exit_code": 2, "output": "no rule"}, "no rule", "fails by itself"),
        ("make", {"exit_code": 2, "output": ""}, "Exit code: 2", "silent"),
        ("grep x a", {"exit_code": 1, "output": ""}, "Exit code: 1", "finds nothing"),
        ("curl x", {"exit_code": 6, "output": "e"}, "The sandbox did not let it reach 'x'.", "sandbox, named"),
        ("make", {"exit_code": None, "job": "1"}, "", "runs on as a job"),
    ],
)
def test_what_a_result_counts_as(command, data, text, kind):
    assert classify(command, Result("success", text, data)) == kind


def test_what_an_error_counts_as():
    def of(command, code, text):
        return classify(command, Result("error", text, None, Fault(code, text)))

    assert of("sudo x", ErrorCode.SECURITY, "'sudo' is not allowed.") == "refused, named"
    assert of("npx x", ErrorCode.TIMEOUT, "Command timed out after 10 s.") == "silent"
    assert of("sleep 99", ErrorCode.TIMEOUT, "Command timed out after 10 s.") == "timed out"


def test_commands_run_and_are_counted(tmp_path):
    found = run([("git", "cd /home/u/x && git log --oneline"), ("pipes", "false | (exit 3)")], tmp_path / "project")
    assert [one.kind for one in found] == ["works", "silent"]
    assert "first" in found[0].text
    table = draw_table([*found, RecordedOutcome("git", "", "works", "")])
    assert table.splitlines()[0] == "| category | works | silent | all |"
    assert "| git | 2 | 0 | 2 |" in table
