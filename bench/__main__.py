"""`python -m bench`: measures every case, prints the tables and writes docs/benchmarks.md with its pictures."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from bench import growth, measure, peers, picture, report
from bench.cases import Case, Settings, discover


def main() -> None:
    options = _options()
    turn = peers.alone()
    if not peers.inside() and not options.here:
        _enter_environment()
    cases = [case for name, case in discover().items() if name in (options.only or [name])]
    files = options.files or (2_000 if options.quick else 10_000)
    settings = Settings(peers.HOME / "scratch", peers.HOME / "state", options.quick, files)
    rounds = options.rounds or (3 if options.quick else 9)
    results = {case: _measured(case, settings, rounds) for case in cases}
    turn.close()
    if options.only or options.quick or options.here:
        print("\nOnly a whole run writes docs/benchmarks.md.")
        return
    docs = peers.ROOT / "docs"
    drawn = growth.pictures(results)
    (docs / "benchmarks.md").write_text(report.page(results, report.facts(), drawn), encoding="utf-8")
    (docs / "benchmarks.svg").write_text(picture.svg(results), encoding="utf-8")
    for name, drawing in drawn.items():
        (docs / f"benchmarks-{name}.svg").write_text(drawing, encoding="utf-8")
    print("\nWrote docs/benchmarks.md and its pictures.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = sorted(discover())
    parser.add_argument("--only", action="append", choices=names, help="measure this case; may be repeated")
    parser.add_argument("--quick", action="store_true", help="few rounds and small trees, for a first look")
    parser.add_argument("--rounds", type=_count, metavar="N", help="how often each contestant has its turn (default 9)")
    parser.add_argument("--files", type=_count, metavar="N", help="size of the made tree (default 10,000)")
    parser.add_argument("--here", action="store_true", help="this interpreter, with the peers that it has")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _enter_environment() -> None:
    """Go on in the bench's own environment; where it cannot be made, stay here and do without the peers."""
    try:
        python = str(peers.environment())
    except peers.UnavailableError as error:
        print(f"No environment for the peers, so rows beside them are left out: {error}")
        os.execv(sys.executable, [sys.executable, "-m", "bench", "--here", *sys.argv[1:]])
    if program := peers.find_uv():
        os.environ["UV"] = program
    os.chdir(peers.ROOT)
    os.execv(python, [python, "-m", "bench", *sys.argv[1:]])


def _measured(case: Case, settings: Settings, rounds: int) -> list[measure.Outcome]:
    for folder in (settings.scratch, settings.state):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    print(f"\n{case.name}: {case.about.splitlines()[0]}", flush=True)
    outcomes = [measure.run(race, rounds) for race in case.races(settings)]
    print(report.table(outcomes), flush=True)
    for folder in (settings.scratch, settings.state):
        shutil.rmtree(folder)
    return outcomes


if __name__ == "__main__":
    main()
