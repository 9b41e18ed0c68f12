import os
import subprocess
import threading
import time

import pytest

from toolroll import ToolError
from toolroll.host.code import map_builder as module
from toolroll.host.code.repo_map import RepoMaps
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.commands import Rule
from toolroll.policy.rules import Policy

pytestmark = pytest.mark.usefixtures("shared_parsers")

TREE = {
    "core.py": "class Engine:\n    def start(self): ...\n",
    "a.py": "from core import Engine\nEngine().start()\n",
    "web/b.ts": "export function paint(colour: string) { return colour }\n",
    "notes.txt": "a zebra\n",
    "data.bin": b"\0\1\2zebra",
}
SETTLED = 0.03  # seconds after which the times of a file can be relied on


@pytest.fixture
def open_repo_maps(open_kit):
    """Repo maps of kits, each with its own memory; all on one state folder."""
    made = []

    def make(**options):
        kit = open_kit(**options)
        ctx = kit.context()
        made.append(RepoMaps(ctx.files, ctx.search, ctx.structure))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def repo_maps(open_repo_maps):
    return open_repo_maps()


@pytest.fixture
def tree(put):
    put(TREE)
    time.sleep(SETTLED)


def cost(repo_maps, path="."):
    """Files that were read, and facts that were made."""
    with repo_maps.build(path) as now:
        return now.read, now.made


def first(repo_maps, question):
    with repo_maps.build() as now:
        return [path for path, _ in now.ranker.by_question(question).files][:1]


def test_a_tree_is_charted_whole(tree, repo_maps):
    with repo_maps.build() as now:
        assert (now.files, now.read, now.made, now.left, now.unreadable, now.whole) == (5, 5, 4, 0, 0, True)
        assert len(now.ranker) == 4
        assert [mark.text for mark in now.ranker.marks("web/b.ts")] == ["function paint(colour: string)"]


def test_a_second_look_reads_nothing(tree, repo_maps):
    assert [cost(repo_maps) for _ in range(2)] == [(5, 4), (0, 0)]


def test_after_one_edit_one_file_is_read(tree, repo_maps, ws):
    cost(repo_maps)
    (ws / "a.py").write_text("def giraffe(): ...\n")
    time.sleep(SETTLED)
    assert cost(repo_maps) == (1, 1)
    assert first(repo_maps, "giraffe") == ["a.py"]
    assert cost(repo_maps) == (0, 0)


def test_an_edit_is_seen_at_once(tree, repo_maps, ws):
    cost(repo_maps)
    for animal in ("giraffe", "hippo", "camel"):
        (ws / "notes.txt").write_text(animal)
        assert first(repo_maps, animal) == ["notes.txt"]


def test_an_edit_that_hides_is_seen(tree, repo_maps, ws):
    cost(repo_maps)
    before = os.stat(ws / "notes.txt")
    (ws / "notes.txt").write_text("a camel\n")
    os.utime(ws / "notes.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(ws / "notes.txt")
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)  # what make would look at
    assert first(repo_maps, "camel") == ["notes.txt"]


CHANGES = [
    ("touched", lambda ws: os.utime(ws / "a.py"), (1, 0)),
    ("moved", lambda ws: (ws / "core.py").rename(ws / "web/core.py"), (1, 0)),
    ("copied", lambda ws: (ws / "copy.py").write_text(TREE["core.py"]), (1, 0)),
    ("copied to another language", lambda ws: (ws / "copy.rb").write_text(TREE["core.py"]), (1, 1)),
    ("deleted", lambda ws: (ws / "core.py").unlink(), (0, 0)),
    ("put aside", lambda ws: (ws / ".gitignore").write_text("web/\n"), (0, 0)),
    ("made binary", lambda ws: (ws / "a.py").write_bytes(b"\0"), (1, 0)),
    ("too large", lambda ws: (ws / "a.py").write_bytes(b"x " * (1 << 20) + b"x"), (1, 0)),
]


@pytest.mark.parametrize(("change", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_only_new_content_is_looked_into(tree, repo_maps, open_repo_maps, ws, change, expected):
    cost(repo_maps)
    change(ws)
    time.sleep(SETTLED)
    assert cost(repo_maps) == expected
    assert cost(repo_maps) == (0, 0)
    other = open_repo_maps()
    for question in ("engine", "paint", "zebra"):
        assert first(repo_maps, question) == first(other, question)


def test_another_kit_finds_what_was_made(tree, open_repo_maps):
    assert [cost(open_repo_maps()) for _ in range(2)] == [(5, 4), (0, 0)]
    last = open_repo_maps()
    assert first(last, "engine") == ["core.py"]


def test_a_folder_has_a_chart_of_its_own(tree, repo_maps):
    cost(repo_maps)
    assert cost(repo_maps, "web") == (0, 0)
    with repo_maps.build("web") as now:
        assert [path for path, _ in now.ranker.by_graph().files] == ["web/b.ts"]
    with repo_maps.build("./web/") as now:
        assert now.files == 1


def test_kits_at_a_time_on_one_state_agree(tree, open_repo_maps, put):
    put({f"many/f{number}.py": f"def name{number}(): return name{number + 1}\n" for number in range(120)})
    found, errors = [], []

    def work(repo_maps):
        try:
            for _ in range(3):
                with repo_maps.build() as now:
                    found.append((len(now.ranker), now.ranker.by_question("name7 engine").files))
        except BaseException as error:
            errors.append(error)

    atlases = [open_repo_maps() for _ in range(3)]
    threads = [threading.Thread(target=work, args=(one,)) for one in (*atlases, atlases[0])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(found) == 12
    assert all(one == found[0] for one in found)
    assert found[0][0] == 124


def test_hostile_and_odd_files_do_no_harm(put, repo_maps, ws):
    put(
        {
            "broken.py": "def fine(): ...\ndef (((:\n  class",
            "empty.py": "",
            "utf16.py": "def größe(): ...\n".encode("utf-16"),
            "latin.py": "# caf\xe9\ndef cafe(): ...\n".encode("latin-1"),
            "ünïcode dir/名前.py": "def 文件系统(): ...\n",
            "line\nend.py": "def strange(): ...\n",
        }
    )
    (ws / "link.py").symlink_to("/etc/passwd")
    (ws / "loop").symlink_to(".")
    os.mkfifo(ws / "pipe.py")
    (ws / os.fsdecode(b"bad\xff.py")).write_text("def bad(): ...\n")
    with repo_maps.build() as now:
        assert (now.files, now.unreadable, len(now.ranker)) == (7, 1, 6)
    for question, path in {
        "fine": "broken.py",
        "größe": "utf16.py",
        "cafe": "latin.py",
        "文件": "ünïcode dir/名前.py",
        "strange": "line\nend.py",
    }.items():
        assert first(repo_maps, question) == [path]


class Late:
    """A parser pool for a file that is written to right before it is parsed."""

    def __init__(self, parsers, path, text):
        self.parsers = self
        self.real = parsers
        self.spread = parsers.spread
        self.path = path
        self.text = text

    def every_facts(self, sources, token=None):
        self.path.write_text(self.text)
        return self.real.every_facts(sources, token)


def test_what_changes_between_reading_and_parsing_is_not_kept_as_what_it_was(put, open_kit, open_repo_maps, ws):
    old, new = "def before(): ...\n", "def after(): ...\n\n\n"
    put({"a.py": old})
    time.sleep(SETTLED)
    kit = open_kit()
    ctx = kit.context()
    late = RepoMaps(ctx.files, ctx.search, Late(ctx.structure.parsers, ws / "a.py", new))
    cost(late)
    late.close()
    for text, name in ((new, "after"), (old, "before")):
        (ws / "a.py").write_text(text)
        time.sleep(SETTLED)
        with open_repo_maps().build() as now:
            assert [mark.name for mark in now.ranker.marks("a.py")] == [name]
            assert now.ranker.by_question(name).files == [("a.py", 1.0)]


def test_generated_data_is_known_by_its_path_alone(put, repo_maps):
    put({"package-lock.json": '{"zebra": 1}', "web/lib.min.js": "function zebra(){}"})
    assert first(repo_maps, "zebra") == []
    assert first(repo_maps, "package lock") == ["package-lock.json"]


def test_an_empty_tree_has_an_empty_chart(repo_maps):
    with repo_maps.build() as now:
        assert (now.files, len(now.ranker)) == (0, 0)


def test_what_may_not_be_read_is_not_charted_even_if_it_is_kept(tree, open_repo_maps):
    open_policy = open_repo_maps()
    assert first(open_policy, "zebra") == ["notes.txt"]  # and is kept on disk
    rules = (Rule("deny", path="notes.txt", effect="read"),)
    closed = open_repo_maps(policy=Policy(rules=rules))
    assert first(closed, "zebra") == []
    only = open_repo_maps(policy=Policy(extensions=frozenset({".py"})))
    with only.build() as now:
        assert (len(now.ranker), now.unreadable) == (2, 3)


def test_what_there_was_no_time_for_is_left_for_the_next_call(tree, repo_maps, monkeypatch):
    monkeypatch.setattr(module, "_SHARE", 0.0)
    with repo_maps.build(".", CancelToken(60)) as now:
        assert (now.left, now.read, len(now.ranker)) == (5, 0, 0)
    monkeypatch.undo()
    with repo_maps.build() as now:
        assert (now.left, now.read, len(now.ranker)) == (0, 5, 4)


def test_of_many_new_files_those_that_a_question_is_about_are_parsed_first(tree, repo_maps, monkeypatch):
    monkeypatch.setattr(module, "_BATCH_FILES", 2)
    monkeypatch.setattr(module, "_FIRST_FILES", 1)

    def rank(ranker):
        return ranker.by_question("class Engine in core")

    with repo_maps.build(rank=rank) as now:
        assert (now.left, now.made) == (4, 1)
        assert [path for path, _ in rank(now.ranker).files[:2]] == ["core.py", "a.py"], (
            "by its words, which are known of all code"
        )
        assert [len(now.ranker.marks(one)) for one in ("core.py", "a.py", "web/b.ts")] == [2, 0, 0]
    with repo_maps.build(rank=rank) as now:
        assert (now.left, now.made) == (0, 3), "the next call reads the rest"
        assert len(now.ranker.marks("web/b.ts")) == 1


def test_a_large_repository_is_read_ahead(tree, ws, open_kit, monkeypatch):
    monkeypatch.setattr("toolroll.host.code.repo_map.AHEAD_DELAY_S", 0.0)
    monkeypatch.setattr("toolroll.host.code.repo_map.MIN_AHEAD", 4)
    git(ws, "init", "-q")
    git(ws, "add", ".")
    kit = open_kit()
    with kit.fork() as fork:
        assert fork.call("time", {}).ok
        assert fork._services.repo_maps._ahead is None
    assert kit._services.repo_maps._ahead is None, "before the first call"
    assert kit.call("time", {}).ok
    kit._services.repo_maps._ahead.join(30)
    assert kit.call("repo_map", {"query": "engine"}).data["read"] == 0


def test_reading_ahead_ends_when_the_kit_is_closed(tree, ws, open_kit, monkeypatch):
    monkeypatch.setattr("toolroll.host.code.repo_map.AHEAD_DELAY_S", 60.0)
    kit = open_kit()
    assert kit.call("time", {}).ok
    kit.close()
    assert not kit._services.repo_maps._ahead.is_alive()


def test_a_cancelled_look_stops(tree, repo_maps):
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"), repo_maps.build(".", token):
        pass
    assert cost(repo_maps)[1] == 4


def git(ws, *words):
    known = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    known |= {
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
        "PATH": os.environ["PATH"],
        "HOME": "/",
    }
    subprocess.run(["git", "-c", "init.defaultBranch=main", *words], cwd=ws, env=known, check=True)


def commit(ws, message):
    git(ws, "add", ".")
    git(ws, "commit", "-q", "-m", message)


def touched(repo_maps, ctx, word, path="."):
    past = repo_maps.commit_history(ctx.repository, path)
    return None if past is None else sorted(past.scores({word: 1.0}))


def test_the_past_is_that_of_the_commit_one_is_at(tree, repo_maps, ctx, ws):
    git(ws, "init", "-q")
    assert touched(repo_maps, ctx, "zebras") is None  # nothing is committed yet
    commit(ws, "Speak of zebras")
    assert touched(repo_maps, ctx, "zebras") == ["a.py", "core.py", "data.bin", "notes.txt", "web/b.ts"]
    held = repo_maps.commit_history(ctx.repository)
    assert repo_maps.commit_history(ctx.repository) is held
    (ws / "notes.txt").write_text("stripes")
    commit(ws, "Stripes now")
    assert touched(repo_maps, ctx, "stripes") == ["notes.txt"]
    git(ws, "pack-refs", "--all")
    assert touched(repo_maps, ctx, "stripes") == ["notes.txt"]
    git(ws, "checkout", "-q", "--detach", "HEAD~1")
    assert touched(repo_maps, ctx, "stripes") == []


def test_where_the_commit_cannot_be_told_git_is_asked_each_time(tree, repo_maps, ctx, ws):
    git(ws, "init", "-q")
    git(ws, "checkout", "-q", "-b", "a#b")
    for word in ("zebras", "stripes"):
        (ws / "notes.txt").write_text(word)
        commit(ws, f"Speak of {word}")
        assert "notes.txt" in touched(repo_maps, ctx, word)


def test_a_repository_in_a_folder_is_told_by_its_paths_from_the_workspace(tree, repo_maps, ctx, ws):
    git(ws / "web", "init", "-q")
    commit(ws / "web", "Paint it")
    assert touched(repo_maps, ctx, "paint", "web") == ["web/b.ts"]
    assert touched(repo_maps, ctx, "paint") is None


@pytest.mark.parametrize(
    "head", ["", "ref: ../../../../etc/passwd", "ref: /dev/zero", "ref: refs/heads/none", "\0" * 100]
)
def test_a_repository_that_makes_no_sense_has_no_past(tree, repo_maps, ctx, ws, head):
    git(ws, "init", "-q")
    commit(ws, "Speak of zebras")
    (ws / ".git/HEAD").write_text(head)
    assert touched(repo_maps, ctx, "zebras") is None


def test_without_a_repository_there_is_no_past(tree, repo_maps, ctx):
    assert repo_maps.commit_history(ctx.repository) is None
