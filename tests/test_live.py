"""The tasks for a live model, and the whole way from one to its row of the table."""

from bench import live


def test_the_tasks_are_of_fifty_names():
    tasks = live.choose_tasks()
    assert len({one.name for one in tasks}) == len(tasks) == 50
    assert all(one.solution and one.check for one in tasks)


def test_a_scripted_model_solves_a_task(capsys, tmp_path):
    words = ["--scripted", "anthropic", "--dialects", "codex", "--tasks", "crlf", "--transcripts", str(tmp_path)]
    assert live.main(words) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row == "| codex | 1 of 1 | 3.0 | 2.0 | 330 | Unsupported 1 |", "it looks with `view_image`"
    assert [one.name for one in tmp_path.iterdir()] == ["codex-crlf.jsonl"]


def test_a_task_that_is_not_solved_is_counted_as_such(tmp_path):
    task = live.choose_tasks("fix-operator")[0]
    live.put_files(tmp_path, task.files)
    assert not live.is_solved(task, tmp_path)
