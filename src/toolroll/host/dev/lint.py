"""Run linters and formatters. They never write to the workspace: we save the new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from toolroll.host.dev.projects import Projects, driver_source, read_report
from toolroll.host.files.tree import FileTree
from toolroll.host.files.workspace import JUDGED
from toolroll.host.search.query import Scope
from toolroll.host.shell.command_result import check_end
from toolroll.host.shell.explain import explain
from toolroll.host.shell.interpreter import walk_up
from toolroll.result import CouldNotLookError, ErrorCode, Looked, ToolError
from toolroll.text.dev.lint import engines, readers
from toolroll.text.dev.lint.engines import Action, LintEngine, LintRequest, Rewrite
from toolroll.text.dev.lint.readers import Form, LintReport
from toolroll.text.dev.lint.results import Finding, LintOutput, Rewritten
from toolroll.text.lines import counted

if TYPE_CHECKING:
    from toolroll.host.files.reader import TextFile

_MAX_OUTPUT_BYTES = 32 << 20
_FOREIGN = ("node_modules", "site-packages")  # not for us to change, even where nothing ignores them
T = TypeVar("T")
_UTF8 = b"\xef\xbb\xbf"


def choose(
    projects: Projects, action: Action, path: str, select: str, seconds: float
) -> tuple[list[Linter], tuple[CouldNotLookError, ...]]:
    """The linters to ask about a file or folder, and the languages that none of them knows."""
    files = _files(projects, path)
    where = projects.locate(path)
    found: dict[str, Linter] = {}
    missing: dict[str, int] = {}
    for engine in engines.candidates(action, files):
        own = tuple(one for one in files if one.rpartition(".")[2] in engine.suffixes)
        if engine.language in found:
            continue
        program = projects.program(engine.program, where) if engine.program else projects.python(where)
        if program is None:
            missing[engine.language] = len(own)
        else:
            found[engine.language] = Linter(projects, engine, program, own, where, select, seconds)
    lacking = {one: count for one, count in missing.items() if one not in found and one in engines.ADD}
    if not found:
        raise _nothing(action, path, files, lacking)
    return list(found.values()), tuple(_lacks(one, many) for one, many in lacking.items())


def _lacks(language: str, files: int) -> CouldNotLookError:
    why = f"no program is installed for {counted(files, 'file')} of {language}."
    return CouldNotLookError("lint", why, f"Needed: {engines.ADD[language]}")


def _files(projects: Projects, path: str) -> list[str]:
    where = projects.locate(path)
    if FileTree(projects.files).item(path).kind != "directory":
        return [where]
    found = projects.find_files(engines.pattern(), Scope(where, skip=_FOREIGN))
    return [one.path for one in found.entries if "\n" not in one.path]


def _nothing(action: Action, path: str, files: Sequence[str], lacking: dict[str, int]) -> ToolError:
    if lacking:
        ways = "; ".join(f"{one}: {engines.ADD[one]}" for one in lacking)
        return ToolError(ErrorCode.UNSUPPORTED, f"Nothing here can {action} {path!r}. Ask the user to add it ({ways}).")
    kinds = sorted({one.rpartition(".")[2] for one in files if "." in one})
    what = f"files of type {', '.join(kinds)}" if kinds else "its files"
    return ToolError(ErrorCode.UNSUPPORTED, f"There is no way to {action} {path!r}: nothing is known for {what}.")


@dataclass(frozen=True, slots=True)
class Linter:
    """An engine that is here, at work for one call."""

    projects: Projects
    engine: LintEngine
    program: str
    files: tuple[str, ...]
    path: str
    """The file or folder to look at, from the workspace."""
    select: str
    seconds: float

    def check(self) -> list[Finding]:
        assert self.engine.check is not None
        return self._report(self.engine.check, self.engine.form).findings

    def rewrite(self, rewrite: Rewrite) -> tuple[list[tuple[TextFile, str]], list[Finding]]:
        """The files it would change, each with its new text, and those that it cannot read."""
        report = self._report(rewrite.find, rewrite.form)
        found = report.findings
        faults = found if rewrite is self.engine.fix else [one for one in found if not one.fixable]
        if rewrite.filter is None:
            return [(self._draft(path), text) for path, text in sorted(report.texts.items())], faults
        # Taken before the program reads them: what changes in between is noticed when they are saved.
        drafts = [self._draft(path) for path in report.stale]
        return list(zip(drafts, self._filtered(rewrite, drafts), strict=True)), faults

    def _report(self, template: str, form: Form) -> LintReport:
        """What the program reports; CouldNotLookError if it did not look."""
        try:
            printed = self._ask(template)
            report = readers.read_report(self.engine.name, form, printed)
            self._verify(form, report, printed)
        except CouldNotLookError as error:
            raise CouldNotLookError(error.who, error.why, error.remedy or self.engine.remedy) from error
        return report

    def _verify(self, form: Form, report: LintReport, printed: LintOutput) -> None:
        """Refuse findings for files that are not there, and silence of what is not that program."""
        for path in dict.fromkeys(one.path for one in report.findings):
            if path not in self.files and not self._is_there(path):
                raise readers.refuse(self.engine.name, printed)
        if not report.findings and form.json is None and form.ends is None:
            words, known = self.engine.probe
            probed = self._run([self.program, *words.split()])
            if not re.search(known, f"{probed.out}\n{probed.errors}"):
                raise readers.refuse(self.engine.name, probed)

    def _is_there(self, path: str) -> bool:
        try:
            return FileTree(self.projects.files).item(path).kind == "file"
        except (ToolError, OSError):
            return False

    def _absolute(self, path: str) -> str:
        return f"{self.projects.root}/{path}"

    def _draft(self, path: str) -> TextFile:
        return self.projects.files.draft(self._absolute(path))

    def _ask(self, template: str) -> LintOutput:
        texts = {"report": ("", ".json")}
        if not self.engine.program:
            texts["script"] = (driver_source("check_syntax"), ".py")
        with self.projects.scripts(texts) as made:
            argv = [self.program, *self._wanted(made).arguments(template)]
            printed = self._run(argv)
            report = read_report(made["report"])
        if report:
            return LintOutput(report.decode("utf-8", "replace"), printed.out, printed.status, printed.root)
        return printed

    def _wanted(self, made: dict[str, str]) -> LintRequest:
        manifest = ""
        if self.engine.language == "Rust":
            paths = (self._absolute(f"{one}/Cargo.toml") for one in walk_up(self.path))
            manifest = next(filter(None, map(self.projects.read_text, paths)), "")
        return LintRequest(
            path=self.path,
            files=tuple(f"./{one}" for one in self.files),
            select=self.select,
            report=made.get("report", ""),
            edition=engines.edition(manifest),
            script=made.get("script", ""),
        )

    def _run(self, argv: list[str]) -> LintOutput:
        shell, root = self.projects.shell, self.projects.root
        judged = self.engine.foreign or self.projects.runs_workspace(self.program)
        run = shell.words if judged else shell.program
        try:
            ran = run(argv, seconds=self.seconds, merge=False, writes="nothing", extra={"NO_COLOR": "1"})
            check_end(ran, 2_000, "tail")
        except ToolError as error:
            raise CouldNotLookError(self.engine.name, error.message, code=error.code) from error
        output = ran.launched.running.output
        if output.total > _MAX_OUTPUT_BYTES:
            why = f"it printed {output.total} bytes; {_MAX_OUTPUT_BYTES} are read."
            raise CouldNotLookError(self.engine.name, why, "Give a smaller `path`.", code=ErrorCode.TOO_LARGE)
        out = output.read(0, _MAX_OUTPUT_BYTES).decode("utf-8", "replace")
        errors = ran.show_errors(20_000).text
        why = explain(errors, ran.launched) if ran.status else ""
        return LintOutput(out, "\n".join(filter(None, [errors, why])), ran.status or 0, root)

    def _filtered(self, rewrite: Rewrite, drafts: list[TextFile]) -> list[str]:
        """The new texts of files, printed by a program that reads them."""
        assert rewrite.filter is not None
        if not drafts:
            return []
        for draft in drafts:
            if draft.encoding.codec.lower().replace("_", "-") not in ("utf-8", "utf-8-sig", "ascii"):
                why = f"{draft.path!r} is {draft.encoding.codec}, not UTF-8. Leave it out."
                raise ToolError(ErrorCode.UNSUPPORTED, why)
        names = "".join(f"./{one.path}\n" for one in drafts)
        with self.projects.scripts({"list": (names, ".list")}) as made:
            words = self._wanted({}).arguments(rewrite.filter)
            command = words if words[:1] == ["sh"] else [self.program, *words]
            out = f"{made['list']}.d"
            printed = self._run(["sh", "-c", engines.LOOP, "sh", out, made["list"], *command])
            if printed.status:
                raise readers.refuse(self.engine.name, printed)
            new = [read_report(made["list"], f".d/{number}") for number in range(len(drafts))]
        for draft, data in zip(drafts, new, strict=True):
            # A fix may leave nothing, such as of a file with an unused import only; a formatter never does.
            if not data and draft.data.strip() and rewrite is not self.engine.fix:
                raise ToolError(ErrorCode.EXECUTION, f"{draft.path!r} came back empty. Nothing was changed.")
        return [data.removeprefix(_UTF8).decode() for data in new]


def ask_all(
    linters: Sequence[Linter], ask: Callable[[Linter], T], lacking: tuple[CouldNotLookError, ...] = ()
) -> tuple[list[T], Looked]:
    """Ask each linter: the answers, and who gave them; CouldNotLookError if none did."""
    answers: list[T] = []
    names: list[str] = []
    failed = list(lacking)
    for one in linters:
        try:
            answers.append(ask(one))
            names.append(one.engine.name)
        except CouldNotLookError as error:
            failed.append(error)
    if failed and not names:
        raise failed[-1]
    looked = Looked("", tuple(names), tuple(failed))
    return answers, replace(looked, at=counted(count_files(linters, looked), "file"))


def count_files(linters: Sequence[Linter], looked: Looked) -> int:
    """How many files the linters that answered have looked at."""
    return len({file for one in linters if one.engine.name in looked.by for file in one.files})


def save(projects: Projects, drafts: Sequence[tuple[TextFile, str]]) -> tuple[list[Rewritten], str]:
    """Write new texts, those that differ; what was changed, and which files do not parse any more."""
    changes = [projects.files.save(draft, text) for draft, text in drafts if draft.text != text]
    broken = "\n".join(filter(None, (one.verdict for one in changes[:JUDGED])))
    return [Rewritten(one.path, one.diff()) for one in changes], broken
