import subprocess
import sys
from dataclasses import replace

import pytest

from toolroll.text.code.map import file_facts
from toolroll.text.code.map.commit_history import CommitHistory, PastCommit
from toolroll.text.code.map.ranking import FileRanker
from toolroll.text.code.syntax.tags import tags
from toolroll.text.ranking.weights import WEIGHTS, find_aside

FILES = {
    "src/engine.py": "class Engine:\n    def start(self): ...\n    def stop_slowly(self): ...\n",
    "src/car.py": "from engine import Engine\nclass Car:\n    def drive(self): Engine().start()\n",
    "src/bus.py": "from engine import Engine\nclass Bus:\n    def load(self): return Engine\n",
    "src/paint.py": "COLOURS = ['red']\ndef mix(): return 'a shade of red'\n",
    "tests/test_engine.py": "from engine import Engine\ndef test_engine_start(): Engine().start()\n",
    "docs/engine.md": "# Engine\n\nThe engine starts.\n",
}


def made(files=FILES):
    ranker = FileRanker()
    for path, text in files.items():
        language = {"py": "python", "md": "markdown"}.get(path.rpartition(".")[2])
        ranker.put(path, file_facts.make_facts(text, tags(language, text.encode()) if language else None))
    return ranker


def paths(ranking):
    return [path for path, _ in ranking.files]


QUESTIONS = [
    ("engine", "src/engine.py"),
    ("stop the engine slowly", "src/engine.py"),
    ("stopSlowly", "src/engine.py"),
    ("shades of red", "src/paint.py"),
    ("colour", "src/paint.py"),
    ("the bus does not load", "src/bus.py"),
    ("test of engine start", "tests/test_engine.py"),
    ("documentation of the engine", "docs/engine.md"),
    ("something in src/car.py with the engine", "src/car.py"),
    ("what does paint.mix do to an engine?", "src/paint.py"),
]


@pytest.mark.parametrize(("question", "first"), QUESTIONS, ids=[row[0] for row in QUESTIONS])
def test_the_file_that_a_question_is_about_comes_first(question, first):
    ranking = made().by_question(question)
    assert ranking.files[0] == (first, 1.0)


def test_a_question_that_nothing_answers_finds_nothing():
    assert made().by_question("zebra").files == []
    assert FileRanker().by_question("engine").files == []


def test_history_finds_what_the_text_does_not_say():
    past = CommitHistory([PastCommit("Vehicles honk", ("src/car.py",)), PastCommit("More", ("gone.py",))])
    assert paths(made().by_question("honk", past)) == ["src/car.py", "src/engine.py"]
    assert made().by_question("honk").files == []


def test_files_that_the_best_ones_build_on_are_near_the_top():
    ranking = dict(made().by_question("bus").files)
    assert ranking.keys() == {"src/bus.py", "src/engine.py"}
    assert dict(made().by_question("bus", weights=replace(WEIGHTS, graph=0)).files) == {"src/bus.py": 1.0}


def test_the_graph_puts_first_what_others_build_on():
    assert paths(made().by_graph()) == [
        "src/engine.py",
        "src/bus.py",
        "src/car.py",
        "src/paint.py",
        "docs/engine.md",
        "tests/test_engine.py",
    ]


def test_files_in_play_bring_up_what_they_build_on_and_are_left_out():
    files = FILES | {"src/brush.py": "from paint import mix\nmix()\n"}
    ranking = made(files).by_graph({"src/brush.py", "not/there.py"})
    assert paths(ranking)[0] == "src/paint.py"
    assert "src/brush.py" not in paths(ranking)
    assert len(ranking.files) == 6
    assert "src/car.py" not in paths(made().by_question("engine", play={"src/car.py"}))


def test_a_changed_file_is_ranked_by_what_it_says_now():
    ranker = made()
    ranker.put("src/paint.py", file_facts.make_facts("zebra", None))
    assert paths(ranker.by_question("zebra")) == ["src/paint.py"]
    assert ranker.by_question("shade").files == []
    ranker.drop("src/paint.py")
    assert ranker.by_question("zebra").files == []
    assert len(ranker) == 5


def test_definitions_are_valued_by_the_question():
    ranker = made()
    values = dict(
        zip(
            [mark.name for mark in ranker.marks("src/engine.py")],
            ranker.values("src/engine.py", ranker.by_question("stop slowly")),
            strict=True,
        )
    )
    assert max(values, key=values.__getitem__) == "stop_slowly"
    assert all(0 < value <= 1 for value in values.values())


ORDER = """
import sys
sys.path.insert(0, {folder!r})
from test_ranking import made, paths
print(paths(made().by_question("start the engine of a car")), made().by_graph({{"src/car.py", "src/bus.py"}}).files)
"""


def test_the_order_is_the_same_whatever_the_hashes_are():
    from pathlib import Path

    code = ORDER.format(folder=str(Path(__file__).parent))
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("src/engine.py", None),
        ("src/testing_ground.py", None),
        ("latest/contest.py", None),
        ("CHANGELOG.md", 0),
        ("web/app.min.js", 1),
        ("vendor/x/y.go", 2),
        ("docs/a.py", 3),
        ("README.md", 3),
        ("tests/a.py", 4),
        ("src/a_test.go", 4),
        ("src/a.spec.ts", 4),
        ("test_a.py", 4),
    ],
)
def test_what_says_much_and_does_little_is_told_by_its_path(path, row):
    assert find_aside(path) == row


def test_what_a_message_begins_with_says_where():
    ranker = made({"lexer.py": "step = 1\n", "parser.py": "step = 2\n"})
    assert paths(ranker.by_question("lexer: a step of the parser")) == ["lexer.py", "parser.py"]
    assert paths(ranker.by_question("parser: a step of the lexer")) == ["parser.py", "lexer.py"]


def test_the_kind_of_a_change_is_no_place():
    files = {"src/maint.py": "step = 1\n", "src/lexer.py": "step = 'simplify'\n"}
    assert paths(made(files).by_question("lexer: simplify maint"))[0] == "src/lexer.py"
    assert paths(made(files).by_question("maint: simplify step of lexer"))[0] == "src/lexer.py"
    assert paths(made(files).by_question("maint"))[0] == "src/maint.py"


def test_words_within_the_names_of_files_tell():
    files = {"gdksurface.c": "int a;\n", "gdkdisplay.c": "int a;\n"}
    ranker = made(files)
    assert paths(ranker.by_question("scale of a surface")) == ["gdksurface.c"]
    ranker.put("newsurface.c", file_facts.make_facts("", None))
    assert paths(ranker.by_question("scale of a surface")) == ["gdksurface.c", "newsurface.c"]
    ranker.drop("gdksurface.c")
    assert paths(ranker.by_question("scale of a surface")) == ["newsurface.c"]


def test_who_reported_it_is_not_what_it_is_about():
    files = {"lexer.py": "def step(): ...\n", "ann.py": "ann = 'Ann Lee'\n"}
    question = "The lexer stops\n\nReported-by: Ann Lee <ann@ann.org>"
    assert paths(made(files).by_question(question)) == ["lexer.py"]


def test_what_declares_comes_after_what_does():
    files = {"lexer.c": "int step(void) { return 1; }\n", "lexer.h": "int step(void);\n"}
    assert paths(made(files).by_question("step of the lexer")) == ["lexer.c", "lexer.h"]
    assert paths(made(files).by_question("header of the lexer: step")) == ["lexer.h", "lexer.c"]


def test_without_a_question_the_projects_own_code_comes_first():
    vendored = {f"{folder}/engine.py": FILES["src/engine.py"] for folder in ("deps/x", "vendor", "gen/generated")}
    users = {f"tests/test_{number}.py": "from lib import Lib\nLib().go()\n" for number in range(9)}
    others = {"third_party/lib.py": "class Lib:\n    def go(self): ...\n", "api_pb2.py": "class Lib: ...\n"}
    ranker = made(FILES | vendored | users | others)
    found = paths(ranker.by_graph())
    assert (found[0], set(found[:4])) == ("src/engine.py", {path for path in FILES if path.startswith("src/")})
    assert [path for path in found if ranker.is_own(path)] == found[:4]


def test_the_strongest_uses():
    assert made().uses(["src/engine.py", "src/car.py", "src/paint.py"], 5) == {("src/car.py", "src/engine.py"): 1.0}
