"""Prompts for common tasks, as data: title, description, arguments and text."""

from __future__ import annotations

from dataclasses import dataclass

from toolroll.mcp.backend import Item, UnknownItemError


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    about: str
    default: str | None = None
    """Used when the argument is not given; without a default the argument is required."""
    path: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A task for the model; `{name}` in the text stands for an argument."""

    name: str
    title: str
    about: str
    text: str
    arguments: tuple[PromptArgument, ...] = ()

    def to_list_item(self) -> Item:
        """The prompt as `prompts/list` returns it."""
        given = [
            {"name": one.name, "description": one.about, "required": one.default is None} for one in self.arguments
        ]
        return {"name": self.name, "title": self.title, "description": self.about, "arguments": given}

    def fill(self, given: dict[str, str]) -> Item:
        """The prompt as `prompts/get` returns it; raises ValueError for missing or unknown arguments."""
        known = {one.name: one for one in self.arguments}
        if unknown := [name for name in given if name not in known]:
            there = ", ".join(known) or "none"
            raise ValueError(f"Prompt {self.name!r} has no argument {unknown[0]!r}. There are: {there}.")
        values = {name: given.get(name) or one.default for name, one in known.items()}
        if missing := [name for name, value in values.items() if value is None]:
            raise ValueError(f"Prompt {self.name!r} needs the argument {missing[0]!r}: {known[missing[0]].about}")
        text = self.text.format_map(values)
        return {"description": self.about, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


PROMPTS = (
    Prompt(
        "fix-tests",
        "Fix failing tests",
        "Find out why tests fail and fix the cause.",
        """\
Make the tests of {target} pass.

1. Run them and read every failure: the message, the values, the lines.
2. For each, find the cause in the code before you change anything. Say in a sentence what is wrong and why.
3. Fix the cause with the smallest correct change. Change a test only if the test itself is wrong, and say why.
4. Run the tests again, then the whole suite, and go on until nothing fails that passed before.

End with what was wrong, what you changed, and what you ran to be sure.""",
        (PromptArgument("target", "Test file, folder or test to run.", "this repository", path=True),),
    ),
    Prompt(
        "review",
        "Review a change",
        "Review a change for mistakes.",
        """\
Review {change}.

Read the whole diff, then the code around each part of it, and the callers of what it changes. Look for, in this order:
what is wrong or can fail (also at limits, on errors, under concurrency), what is unsafe, what is not tested, what \
breaks others, what can be said more simply. Check a suspicion before you report it: run the code or a test if you can.

For each finding give the file and line, what happens and with which input, and what you would do. Order them by how \
much they matter. Leave out matters of taste. If you find nothing, say what you checked. Change no files.""",
        (
            PromptArgument(
                "change", "Commit, range or branch; or what is not committed yet.", "the changes not committed yet"
            ),
        ),
    ),
    Prompt(
        "explain",
        "Explain the repository",
        "Explain the structure of this code to a newcomer.",
        """\
Explain {path} to a developer who is new to it.

Look at the map of the repository, its documents and its entry points, then read the central files. Tell what it is \
for; the parts and how they depend on each other; the way of one typical request or run through them, with files and \
functions; how it is built, tested and run; and where one would begin to change it. Name files and lines, so that \
each statement can be checked, and say what you did not look at. Change no files.""",
        (PromptArgument("path", "Folder or file.", "this repository", path=True),),
    ),
    Prompt(
        "commit-message",
        "Write a commit message",
        "A message for what is staged, in the style of this repository.",
        """\
Write the commit message for what is staged (if nothing is, for all changes that are not committed).

Read the diff and the last twenty messages, and write in their style. The first line says in at most 72 characters \
what the change does for those who use the code. Then, if it is not plain, a paragraph that says why, and what a \
reader of the diff could not see. Give only the message. Do not commit.""",
    ),
    Prompt(
        "implement",
        "Build a feature",
        "Plan, build and test something new.",
        """\
Build this: {task}

First look at how the code around it is written and tested, and follow its style. Say in a few lines what you will \
do, and what you take for granted where the task leaves it open. Then build it in small steps: the tests that show it \
works, also for wrong input and at limits, and the code. Run the tests and the checks that this repository has. Touch \
nothing that the task does not need.

End with what you built, how you checked it, and what is left open.""",
        (PromptArgument("task", "What is to be built."),),
    ),
    Prompt(
        "find-bug",
        "Find the cause of a bug",
        "From a symptom to its cause, and a test that shows it.",
        """\
Find the cause of this: {symptom}

Reproduce it first, with the shortest program or test that you can. Then narrow it down by looking at what really \
happens, one guess at a time, and keep track of what you have ruled out. When you know the cause, say which line does \
what, since which commit if the history tells, and what else it affects. Write a test that fails because of it. Do \
not fix it yet: say how you would, and what that could break.""",
        (PromptArgument("symptom", "What happens, and what should happen."),),
    ),
)
_BY_NAME = {one.name: one for one in PROMPTS}


def find_prompt(name: str) -> Prompt:
    """A prompt by its name. Raises UnknownItemError."""
    found = _BY_NAME.get(name)
    if found is None:
        raise UnknownItemError(f"There is no prompt {name!r}. There are: {', '.join(_BY_NAME)}.")
    return found
