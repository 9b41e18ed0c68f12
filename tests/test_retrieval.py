"""The measure of retrieval: what ships is whole, and ranks, shares and pairs are counted as they should be."""

import hashlib
import re
import tomllib
from xml.etree import ElementTree

import pytest

from bench import corpora, curve, questions, retrieval
from bench import shares as bench_shares
from bench.measure import Measured, Outcome
from bench.questions import Place, Question, page, shares_page
from bench.retrieval import NOWHERE, Paired, Score
from toolroll.host.knowledge.vectors.backfill import MAX_NEAREST
from toolroll.text.knowledge import chunks
from toolroll.text.knowledge.fusion import MIN_SIMILARITY, fuse

TEXTS = {"a.txt": "One line.\nThe gear is\nred, not blue.\nRed is red.\n", "b.txt": "Nothing.\n"}
ASKED = Question("what colour is it", "paraphrase", (Place("a.txt", 2, 3), Place("b.txt", 9, 9)))


def read(name: str):
    return tomllib.loads((questions.FOLDER / name).read_text(encoding="utf-8"))


def shipped():
    return read("questions.toml")["question"] + read("fresh.toml")["question"]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_what_ships_is_enough_and_whole():
    documents = {f"{source}/{path}" for source, paths in read("documents.toml").items() for path in paths}
    asked = shipped()
    assert len(documents) >= 60
    assert len(asked) >= 180
    assert len({one["ask"] for one in asked}) == len(asked)
    assert {one["by"] for one in asked} == set(questions.KINDS)
    places = [place for one in asked for place in one["in"]]
    assert {name for name, _ in places} <= documents
    assert len({name for name, _ in places}) >= 60
    assert max(len(phrase.split()) for _, phrase in places) <= questions.WORDS


def test_no_question_repeats_the_phrase_that_answers_it():
    repeated = [
        one["ask"]
        for one in shipped()
        for _, phrase in one["in"]
        if len(phrase.split()) > 3 and " ".join(words(phrase)) in " ".join(words(one["ask"]))
    ]
    assert repeated == ["RuntimeError working outside of application context"]  # a message, as it is seen


def test_each_document_is_known_by_its_hash():
    hashes = [known_by for paths in read("documents.toml").values() for known_by in paths.values()]
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)
    assert len(set(hashes)) == len(hashes)


def test_the_fresh_questions_are_spread_mixed_and_worded_as_when_they_were_first_asked():
    asked = read("fresh.toml")["question"]
    kinds = [one["by"] for one in asked]
    assert [kinds.count(kind) for kind in questions.KINDS] == [13, 34, 21]
    assert len({name for one in asked for name, _ in one["in"]}) >= 45
    known_by = hashlib.sha256("\n".join(one["ask"] for one in asked).encode()).hexdigest()
    assert known_by == "bd96b1f0aeb19d0493601f4606b6b19220cdc2f9998cfc3fc2c6e9f035497cfd"


def test_the_questions_over_the_whole_documentation_are_many_mixed_and_worded_as_when_they_were_first_asked():
    asked = read("django.toml")["question"]
    kinds = [one["by"] for one in asked]
    assert [kinds.count(kind) for kind in questions.KINDS] == [8, 99, 24]
    assert len({name for one in asked for name, _ in one["in"]}) >= 70
    known_by = hashlib.sha256("\n".join(one["ask"] for one in asked).encode()).hexdigest()
    assert known_by == "8f55da359083845f5b5d141eee5ceaa3885a95e49efbdd669285a9a788488c50"


def test_the_halves_are_of_about_one_size_and_a_question_stays_in_its_own():
    asked = [Question(one["ask"], one["by"], ()) for one in read("questions.toml")["question"]]
    assert 0.4 < sum(one.part == "held-out" for one in asked) / len(asked) < 0.6
    parts = [Question(text, "words", ()).part for text in "abcdefgh"]
    assert parts == [*["tuning"] * 4, *["held-out"] * 3, "tuning"]
    assert {Question(text, "words", (), fresh=True).part for text in "abcdefgh"} == {"fresh"}


@pytest.mark.parametrize(
    ("phrase", "place"),
    [("The gear is red, not", Place("a.txt", 2, 3)), ("One line.", Place("a.txt", 1, 1)), ("red is", None)],
)
def test_a_phrase_is_found_over_the_ends_of_lines(phrase, place):
    if place is None:
        with pytest.raises(ValueError, match=r"is 0 times in a\.txt"):
            questions.place("a.txt", phrase, TEXTS)
    else:
        assert questions.place("a.txt", phrase, TEXTS) == place


@pytest.mark.parametrize(
    ("name", "phrase", "why"),
    [
        ("a.txt", "red", r"is 2 times in a\.txt"),
        ("a.txt", "One line. The gear is red, not", "with 6 words at most"),
        ("c.txt", "One", "is no document of the list"),
    ],
)
def test_an_answer_that_is_not_clear_is_refused(name, phrase, why):
    with pytest.raises(ValueError, match=why):
        questions.place(name, phrase, TEXTS)


HERE = pytest.mark.skipif(
    not all((corpora.FOLDER / f"{name}-{version}").exists() for name, (version, _) in corpora.SOURCES.items()),
    reason="the source distributions are not here; the bench fetches them",
)


@HERE
def test_every_answer_is_in_its_document_and_within_a_piece():
    texts = questions.documents()
    asked = questions.questions(texts)
    assert sum(one.fresh for one in asked) == len(read("fresh.toml")["question"])
    pieces = {
        name: [Place(name, one.start, one.end) for one in chunks.split_text(text)] for name, text in texts.items()
    }
    answers = [answer for one in asked for answer in one.answers]
    assert [one for one in answers if not any(piece.holds(one) for piece in pieces[one.document])] == []


@HERE
def test_every_answer_about_the_whole_documentation_is_in_it():
    texts, asked = questions.whole()
    assert (len(texts), len(asked)) == (640, 131)
    assert all(one.fresh and one.answers for one in asked)


def test_a_document_that_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "real", lambda _: tmp_path)
    (tmp_path / "docs" / "faq").mkdir(parents=True)
    (tmp_path / "docs" / "faq" / "admin.txt").write_text("Something else.\n")
    with pytest.raises(ValueError, match=r"django/faq/admin\.txt is not the document it was"):
        questions.documents()


def test_a_passage_is_right_when_it_holds_all_lines_of_an_answer():
    assert Place("a.txt", 1, 3).holds(Place("a.txt", 2, 3))
    assert not Place("a.txt", 1, 2).holds(Place("a.txt", 2, 3))
    assert not Place("a.txt", 3, 9).holds(Place("a.txt", 2, 3))
    assert not Place("b.txt", 1, 3).holds(Place("a.txt", 2, 3))


def test_ranks_of_documents_count_each_once_and_those_of_passages_all():
    ranked = [Place("c.txt", 1, 2), Place("c.txt", 3, 4), Place("a.txt", 5, 9), Place("a.txt", 1, 4)]
    score = Score()
    score.add(ranked, ASKED)
    score.add(ranked[:2], ASKED)
    assert score == Score([2, NOWHERE], [4, NOWHERE])
    assert score.of([False, True]) == Score([NOWHERE], [NOWHERE])


def test_recall_and_reciprocal_rank():
    ranks = [1, 5, 6, NOWHERE]
    assert retrieval.recall(ranks) == 0.5
    assert retrieval.recall(ranks, 6) == 0.75
    assert retrieval.reciprocal(ranks) == pytest.approx((1 + 1 / 5 + 1 / 6) / 4, abs=1e-8)
    assert (retrieval.recall([]), retrieval.reciprocal([])) == (0, 0)


def test_pairs_and_how_likely_they_are_by_chance():
    one, other = [1, 1, 1, 1, 1, 9, 9], [1, 9, 9, 9, 9, 1, 9]
    pair = Paired.of(one, other)
    assert pair == Paired(both=1, one=4, other=1, neither=1)
    assert pair.chance == pytest.approx(2 * (1 + 5) / 2**5)
    assert Paired(3, 0, 0, 3).chance == 1
    assert Paired(0, 6, 0, 0).chance == pytest.approx(2 / 2**6)


METHODS = {
    "words (BM25)": lambda _: [Place("a.txt", 1, 9)],
    "both": lambda text: [Place("b.txt", 1, 2), Place("a.txt", 1, 9)] if text in "eh" else [],
}
MIXED = [  # of a to d and h the hash puts none, of e, f and g all into the held-out half
    *(Question(text, kind, ASKED.answers) for text, kind in zip("abcdefg", questions.KINDS * 3, strict=False)),
    Question("h", "words", ASKED.answers, fresh=True),
    Question("i", "symptom", ASKED.answers, fresh=True),
]


def test_the_tables_name_all_methods_and_parts():
    made = dict(retrieval.tables(retrieval.measured(METHODS, MIXED), MIXED))
    assert list(made) == [
        "The fresh questions (2)",
        "The held-out half (3)",
        "The tuning half (4)",
        "By how a fresh question is put",
        "By how another question is put",
        "Pair by pair: a right passage among the first five",
        "Pair by pair: a right document among the first five",
    ]
    assert made["The held-out half (3)"] == [
        retrieval.HEAD,
        ("words (BM25)", "1.000", "1.000", "1.000", "1.000"),
        ("both", "0.333", "0.333", "0.333", "0.167"),
    ]
    assert made["By how a fresh question is put"] == [
        ("recall@5 by passage", "words (1)", "paraphrase (0)", "symptom (1)"),
        ("words (BM25)", "1.00", "0.00", "1.00"),
        ("both", "1.00", "0.00", "0.00"),
    ]
    assert made["By how another question is put"][1:] == [
        ("words (BM25)", "1.00", "1.00", "1.00"),
        ("both", "0.00", "0.50", "0.00"),
    ]
    assert made["Pair by pair: a right passage among the first five"] == [
        retrieval.PAIRS,
        ("fresh", "both : words (BM25)", "1", "0", "1", "0", "1"),
        ("held-out", "both : words (BM25)", "1", "0", "2", "0", "0.5"),
        ("tuning", "both : words (BM25)", "0", "0", "4", "0", "0.12"),
    ]


def test_pairs_of_documents_are_counted_by_documents():
    methods = {"words": lambda _: [Place("a.txt", 7, 9)], "both": lambda _: []}
    made = dict(retrieval.tables(retrieval.measured(methods, MIXED[-1:]), MIXED[-1:]))
    assert made["Pair by pair: a right passage among the first five"][1][2:6] == ("0", "0", "0", "1")
    assert made["Pair by pair: a right document among the first five"][1][2:6] == ("0", "0", "1", "0")


def test_what_the_page_says_of_the_fresh_questions():
    facts = retrieval.blind(retrieval.measured(METHODS, MIXED), MIXED)
    assert facts == {"questions": 9, "fresh": 2, "margin": "0.69", "words": "1.000", "both": "0.500"}


def test_the_library_of_the_product_is_filled_and_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLROLL_MODELS", str(tmp_path / "none"))
    with retrieval.library(TEXTS | {"docs/c.txt": "Wheels turn.\n"}, tmp_path / "bench") as (kept, why):
        (words,) = retrieval.methods(kept, by_meaning=not why).values()
        assert kept.stats().documents == 3
        assert words("what colour has a gear?") == [Place("a.txt", 1, 4)]
        assert words("wheel") == [Place("docs/c.txt", 1, 1)]
    assert "toolroll models fetch" in why


def test_a_library_that_was_cut_otherwise_is_filled_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLROLL_MODELS", str(tmp_path / "none"))
    texts = {"a.txt": "One line of words.\n\n" * 9}
    for most in (chunks.MAX_CHARS, 60, 60):
        monkeypatch.setattr(chunks, "MAX_CHARS", most)
        with retrieval.library(texts, tmp_path / "bench") as (kept, _):
            assert kept.stats().pieces == len(chunks.split_text(texts["a.txt"]))
    assert len(chunks.split_text(texts["a.txt"])) > 1


def test_the_page_holds_the_tables_and_what_a_search_costs():
    roles = (("toolroll", "ours", 0.004), ("numpy", "peer", 0.002), ("product", "floor", 0.001))
    outcomes = {
        size: Outcome("search", tuple(Measured(name, role, cpu=size * cpu, wall=1) for name, role, cpu in roles))
        for size in (1, 10)
    }
    facts = {"questions": 7, "documents": 3, "pieces": 9, "most": 50, "django": "1.0", "flask": "2.0"}
    facts |= {"fresh": 2, "both": "0.750", "meaning": "0.500", "words": "0.250", "margin": "0.11"}
    made = page.text(facts, {"All": [("ranked by", "MRR"), ("words", "0.5")]}, outcomes)
    for row in (
        "Measured with 7 questions over 3 pages",
        "**The fresh questions (2, `fresh.toml`) are the nearest to blind.**",
        "## All\n\n| ranked by | MRR |\n| --- | --- |\n| words | 0.5 |\n",
        "| pieces | toolroll | numpy | product | toolroll : numpy |",
        "| 10 | 40 ms | 20 ms | 10 ms | 2.00 |",
    ):
        assert row in made
    names = [
        one.text for one in ElementTree.fromstring(page.picture(outcomes)).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"toolroll", "numpy", "product"} <= set(names)


def test_the_page_tells_the_formula_that_is_in_use():
    """A piece of the best words and no meaning, and one of the best meaning and no words, get one weight each."""
    by_words, by_meaning = dict(fuse({1: 3.0}, {1: -0.5})), dict(fuse({}, {2: 0.9}))
    assert f"{by_words[1]:.2f} · (score by words / best such score)" in page.INTRO
    assert f"{by_meaning[2]:.2f} · (cosine - last) / (first - last)" in page.INTRO
    assert f"(cosine below {MIN_SIMILARITY})" in page.INTRO
    assert f"of the {MAX_NEAREST}th nearest piece" in page.INTRO


def test_the_picture_of_growth_is_well_formed_with_a_line_for_each_name():
    drawn = ElementTree.fromstring(
        curve.svg("a < b", "pieces", {"one": [(1000, 0.001), (10_000, 0.01)], "two": [(1000, 0.002), (10_000, 0.011)]})
    )
    name = "{http://www.w3.org/2000/svg}"
    lines = [one.get("points").split() for one in drawn.iter(f"{name}polyline")]
    assert [len(line) for line in lines] == [2, 2]
    heights = [[float(point.partition(",")[2]) for point in line] for line in lines]
    assert heights[0][0] > heights[1][0] > heights[0][1] > heights[1][1]  # what costs more is further up
    texts = [one.text for one in drawn.iter(f"{name}text")]
    assert {"a < b", "one", "two", "1,000 pieces", "10 ms"} <= set(texts)


def shares(**values):
    """What was measured at shares: for each the ranks of words, meaning and both, of two questions."""
    names = ("words (BM25)", "meaning (vectors)", "both")
    return {
        int(share[1:]): bench_shares.Measured(
            dict(zip(names, (Score(one, one) for one in ranks), strict=True)), [0.01] * 2, [0.02] * 2
        )
        for share, ranks in values.items()
    }


def test_what_is_below_words_alone_is_told():
    good = shares(_0=([1, 9], [9, 9], [1, 9]), _100=([1, 9], [1, 1], [1, 2]))
    bad = shares(_0=([1, 9], [9, 9], [1, 9]), _50=([1, 2], [1, 1], [2, 9]))
    assert bench_shares.below(good) == []
    assert bench_shares.below(bad) == ["recall@5 by passage at 50 %", "MRR by passage at 50 %"]
    assert [(row[0], row[1], row[4]) for row in bench_shares.rows(good)] == [
        ("any", "words (BM25)", "0.500"),
        ("100 %", "meaning (vectors)", "1.000"),
        ("0 %", "both", "0.500"),
        ("100 %", "both", "1.000"),
    ]
    assert next(bench_shares.cost_rows(good)) == ("0 %", "10 ms", "10 ms", "20 ms", "20 ms")


def test_the_part_on_shares_stays_when_the_page_is_written_again(tmp_path):
    path = tmp_path / "retrieval.md"
    path.write_text("# Retrieval\n\nOld.\n")
    facts = {"questions": 2, "django": "5", "documents": 3, "pieces": 9, "seeds": 3}
    drawn = bench_shares.lines(shares(_0=([1, 9], [9, 9], [1, 9]), _100=([1, 9], [1, 1], [1, 2])))
    for number in ("1", "2"):
        shares_page.write(tmp_path, facts, [("a",), (number,)], [("b",)], drawn)
    text = path.read_text()
    assert text.startswith(f"# Retrieval\n\nOld.\n\n{page.PART}\n\n## While vectors are being made\n")
    assert ("| 2 |" in text, "| 1 |" in text) == (True, False)
    picture = ElementTree.fromstring((tmp_path / "retrieval-shares.svg").read_text())
    lines = [one.get("points") for one in picture.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(lines) == 6
    assert lines[0].split()[0].partition(",")[2] == lines[0].split()[1].partition(",")[2]  # words stay as they are
