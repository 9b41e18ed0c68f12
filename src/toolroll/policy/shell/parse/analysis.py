"""Find every command that a shell text would run, by tree-sitter's grammar of bash, also behind wrappers or nested."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from toolroll.policy.shell.parse.bombs import Calls, calls, is_bomb, is_endless
from toolroll.policy.shell.parse.grammar import Decoder, first_error, parse, read_plain, strings
from toolroll.policy.shell.parse.normalise import TRIGGER, HereDocument, PreparedText, prepare, substitutions
from toolroll.policy.shell.parse.unwrap import unwrap
from toolroll.policy.shell.parse.words import (
    DOWNLOADED,
    Assignment,
    ForkBomb,
    FoundItem,
    Item,
    Redirection,
    SimpleCommand,
    UnclearPart,
    Word,
    bare,
    folder_after,
    join,
    names,
    piped_text,
    unknown,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NESTED_TEXTS = 6
"""Shell texts inside shell texts."""
MAX_WRAPPERS = 12
"""Wrappers around wrappers."""


@dataclass(slots=True)
class Analysis:
    """What was found, in its order, and whether all of it is plain: literal commands that two readers agree on."""

    found: list[FoundItem] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    plain: bool = True

    def reached(self) -> set[str | None]:
        """The functions whose bodies run; None stands for the text itself."""
        reached: set[str | None] = {None}
        calls: dict[str | None, set[str]] = {}
        for one in self.found:
            if isinstance(one.item, SimpleCommand) and one.item.program in self.functions:
                calls.setdefault(one.owner, set()).add(str(one.item.program))
        waiting: list[str | None] = [None]
        while waiting:
            new = calls.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return reached


@lru_cache(maxsize=4)  # a command is judged by several rules
def analyse(text: str) -> Analysis:
    """What a shell would run if it got `text`."""
    result = Analysis()
    if ODD.search(text):
        result.found.append(FoundItem(UnclearPart(text, "it holds control characters or invisible ones")))
        result.plain = False
    _text(result, text, ".", None, 0)
    return result


def analyse_words(words: Sequence[Word]) -> Analysis:
    """What these words would run without a shell in between."""
    result = Analysis()
    command = SimpleCommand(tuple(words), " ".join(word.text for word in words))
    if any(ODD.search(word.text.replace("\n", "").replace("\t", "")) for word in words):
        result.found.append(FoundItem(UnclearPart(command.text, "it holds control characters or invisible ones")))
    _simple(result, command, None, 0, 0)
    return result


def _text(result: Analysis, text: str, where: str | None, owner: str | None, depth: int) -> None:
    if depth > MAX_NESTED_TEXTS:
        result.plain = False
        result.found.append(FoundItem(UnclearPart(text, "shells are nested too deeply in it"), owner))
        return
    read = read_text(text, where)
    commands = _read_plain(text)
    found = [_shape(one.item.words) for one in read.found if isinstance(one.item, SimpleCommand)]
    agree = commands is not None and found == [_shape(words) for words in commands]
    result.plain = result.plain and not read.trouble and agree
    if read.trouble:
        result.found.append(FoundItem(UnclearPart(text, read.trouble), owner))
    for name in read.functions:
        result.functions.setdefault(name, len(result.found) + read.functions[name])
    for one in read.found:
        holder = one.owner if one.owner is not None else owner
        if isinstance(one.item, SimpleCommand):
            _simple(result, one.item, holder, depth, 0)
        else:
            result.found.append(FoundItem(one.item, holder))
    if commands is not None and not agree and not read.trouble:
        known = [[text for text, _ in words] for words in found]
        for words in commands:  # the grammar takes some lines for words of the one before
            if (texts := [word.text for word in words]) not in known:
                _simple(result, SimpleCommand(words, " ".join(texts), None), owner, depth, 0)


def _simple(result: Analysis, command: SimpleCommand, owner: str | None, depth: int, chain: int) -> None:
    if len(result.found) > MAX_ITEMS:
        result.plain = False
        return
    inside = unwrap(command) if chain < MAX_WRAPPERS else None
    if chain >= MAX_WRAPPERS:
        result.found.append(FoundItem(UnclearPart(command.text, "too many programs run each other in it"), owner))
    clear = inside is not None and inside.clear and bool(inside.items or inside.texts)
    result.found.append(FoundItem(replace(command, clear=True) if clear else command, owner))
    if inside is None:
        return
    for item in inside.items:
        if isinstance(item, SimpleCommand):
            _simple(result, item, owner, depth, chain + 1)
        else:
            result.found.append(FoundItem(item, owner))
    for text in inside.texts:
        if command.whole:
            _text(result, text, command.where, owner, depth + 1)


def _read_plain(text: str) -> list[tuple[Word, ...]] | None:
    """The commands that the plain reader finds; None where it cannot read the text."""
    prepared = _prepare(text)
    if any(here.body and not here.quoted and re.search(r"[$`\\]", here.body) for here in prepared.here.values()):
        return None
    return read_plain(prepared.code)


def _prepare(text: str) -> PreparedText:
    return prepare(text) if TRIGGER.search(text) else PreparedText(text)


def _shape(words: Sequence[Word]) -> list[tuple[str, bool]]:
    return [(word.text, word.literal) for word in words]


MAX_CODE_CHARACTERS = 16_000
"""Characters of code, blanks and here-documents not counted."""
MAX_CHARACTERS = 200_000
"""Characters in all; as many take a good part of a second."""
MARKS = re.compile(r"[()<>$|&;`\[{?*\x00-\x08\x0e-\x1f]")
MAX_MARKS = 2_000
"""Texts of nothing but brackets take the grammar time that grows with the square of their number."""
MAX_DEPTH = 100
MAX_ITEMS = 2_000
"""Items found in one text."""

# Blanks that look like one but are none for the shell, controls, and characters that hide or turn text around.
ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class TooManyCommandsError(Exception):
    """The text is too long, too deep or holds too many commands."""


@dataclass(slots=True)
class ShellText:
    """What a text would run."""

    found: list[FoundItem] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    """The names of functions that are defined, and how many items were found before."""
    trouble: str = ""
    """Why not all of it could be read."""


def read_text(text: str, where: str | None = ".") -> ShellText:
    """What `text` would run when a shell in the folder `where` got it."""
    into = ShellText()
    try:
        _Walk(text, where, into, 0).run()
    except TooManyCommandsError as error:
        into.trouble = str(error)
    return into


class _Walk(Decoder):
    def __init__(self, text: str, where: str | None, into: ShellText, depth: int) -> None:
        if len(text) > MAX_CHARACTERS:
            raise TooManyCommandsError(f"it is longer than {MAX_CHARACTERS} characters")
        prepared = _prepare(text)
        if len(prepared.code) - prepared.code.count(" ") - prepared.code.count("\n") > MAX_CODE_CHARACTERS:
            raise TooManyCommandsError(f"it is longer than {MAX_CODE_CHARACTERS} characters")
        if len(MARKS.findall(prepared.code)) > MAX_MARKS:
            raise TooManyCommandsError(f"it holds more than {MAX_MARKS} brackets and operators")
        super().__init__(prepared.code.encode("utf-8", "replace"), "HOME=" in text)
        self.here = {
            len(prepared.code[:place].encode("utf-8", "replace")): here for place, here in prepared.here.items()
        }
        self.where, self.into, self.depth = where, into, depth
        self.owner: str | None = None
        self.root: Node | None = None
        odd = ODD.search(prepared.code)
        self.doubt = len(prepared.code[: odd.start()].encode("utf-8", "replace")) if odd else len(self.raw) + 1

    def run(self) -> None:
        self.root = root = parse(self.raw)
        if root.has_error:
            self.into.trouble = "it cannot be read as shell text"
            self.doubt = min(self.doubt, first_error(root))
        self.visit(root)

    @cached_property
    def called(self) -> Calls:
        """What each function of the text calls."""
        return {} if self.root is None else calls(self.root)

    def add(self, item: Item) -> None:
        if len(self.into.found) >= MAX_ITEMS:
            raise TooManyCommandsError(f"it holds more than {MAX_ITEMS} commands")
        self.into.found.append(FoundItem(item, self.owner))

    def visit(self, node: Node, stdin: str | None = None) -> None:
        handler = HANDLERS.get(node.type)
        if handler is None and not node.named_child_count:
            return
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooManyCommandsError("it is nested too deeply")
        if handler:
            handler(self, node, stdin)
        else:
            self.children(node)
        self.depth -= 1

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A subshell: it changes folders for itself only."""
        where = self.where
        yield
        self.where = where

    def nothing(self, _node: Node, _stdin: str | None) -> None:
        """Comments, and what the grammar could not read: it has been noted already."""

    def subshell(self, node: Node, _stdin: str | None) -> None:
        with self.apart():
            self.children(node)

    def branches(self, node: Node, _stdin: str | None) -> None:
        where = self.where
        if node.type in ("while_statement", "c_style_for_statement") and is_endless(node):
            self.add(ForkBomb(self.text(node)))
        self.children(node)
        if self.where != where:
            self.where = None

    def sequence(self, node: Node, stdin: str | None) -> None:
        """A list; its left side may be a list again, a thousand times over. A redirection belongs to its last one."""
        rest: list[tuple[str, Node]] = []
        start = self.where
        while node.type == "list" and len(parts := _parts(node)) == 3:
            node, operator, right = parts
            rest.append((operator.type, right))
        if node.type == "list":  # the grammar failed in it
            self.children(node)
        else:
            self.visit(node)
        for place, (operator_type, right) in enumerate(reversed(rest), 1):
            left = self.where
            if operator_type == "||":  # it runs when the left side failed, which then did not change the folder
                self.where = start
            self.visit(right, stdin if place == len(rest) else None)
            if operator_type == "||":
                self.where = left if self.where == start else None

    def pipeline(self, node: Node, stdin: str | None) -> None:
        stages = [stage for stage in _parts(node) if stage.is_named]
        piped = None
        last: Item | None = None
        for stage in stages:
            before = len(self.into.found)
            with self.apart():
                self.visit(stage, stdin if stage is stages[-1] and stdin is not None else piped)
            source, last = last, self.into.found[-1].item if len(self.into.found) > before else None
            if isinstance(source, SimpleCommand) and isinstance(last, SimpleCommand) and last.program == "xargs":
                self.into.found[-1] = FoundItem(replace(last, source=source), self.owner)
            piped = piped_text(last) if isinstance(last, SimpleCommand) else None

    def substitution(self, node: Node, _stdin: str | None) -> None:
        text = self.text(node)
        with self.apart():
            if text.startswith("`") and "\\" in text:
                inner = re.sub(r"\\([`\\$])", r"\1", text[1:-1])
                self.nested(inner).run()
            elif text.startswith("$(") and _UNPREPARED.search(text):
                self.nested(text[2:-1]).run()
            else:
                self.children(node)

    def nested(self, text: str) -> _Walk:
        walk = _Walk(text, self.where, self.into, self.depth + 1)
        walk.owner = self.owner
        return walk

    def function(self, node: Node, _stdin: str | None) -> None:
        name_node = node.child_by_field_name("name")
        name = self.text(name_node) if name_node else ""
        self.into.functions.setdefault(name, len(self.into.found))
        owner, self.owner = self.owner, name
        with self.apart():
            self.where = None  # it runs where it is called
            if name_node and is_bomb(node, self.called):
                self.add(ForkBomb(self.text(node)))
            self.children(node)
        self.owner = owner

    def statement(self, node: Node, stdin: str | None) -> None:
        """A statement with redirections: the grammar takes words after a redirection's target for targets too."""
        body = node.child_by_field_name("body")
        extra: list[Word] = []
        for child in node.named_children:
            if body is None or child.start_byte != body.start_byte or child.type != body.type:
                given, words = self.redirect(child)
                stdin = given if given is not None else stdin
                extra += words
        if body is None:
            return
        self.visit(body, stdin)
        last = self.into.found[-1].item if self.into.found else None
        if extra and isinstance(last, SimpleCommand):
            self.into.found[-1] = FoundItem(replace(last, words=(*last.words, *extra)), self.owner)

    def redirect(self, node: Node) -> tuple[str | None, list[Word]]:
        """What a here-document gives, and the words that belong to the command."""
        if node.type == "heredoc_redirect":
            return self.raw_document(node)
        operator = next((child for child in node.children if child.type in OPERATORS), None)
        targets = [self.word(child) for child in node.children_by_field_name("destination")]
        if node.type != "file_redirect" or operator is None:
            self.children(node)
            self.add(UnclearPart(self.text(node), "it redirects in a way that cannot be read"))
            return None, []
        if operator.type.endswith("-"):  # it closes a descriptor, and has no target
            return None, targets
        here = self.here.get(operator.start_byte)
        if here:
            return self.document(here, targets), targets[1:]
        if targets and not (operator.type.endswith("&") and re.fullmatch(r"\d+-?|-", targets[0].text)):
            whole = node.end_byte < self.doubt
            self.add(Redirection(targets[0], self.text(node), ">" in operator.type, self.where, whole))
        return None, targets[1:]

    def raw_document(self, node: Node) -> tuple[None, list[Word]]:
        """A here-document that was not taken out before, because of what stands around it."""
        words: list[Word] = []
        quoted = True
        for child in node.named_children:
            if child.type == "heredoc_start":
                quoted = any(mark in self.text(child) for mark in "\\'\"")
            elif child.type == "heredoc_body" and not quoted:
                self.expansions(self.text(child))
            elif child.type == "file_redirect":
                words += self.redirect(child)[1]
            elif child.type in WORDS:
                words.append(self.word(child))
            elif child.type not in ("heredoc_body", "heredoc_end"):
                self.visit(child)
        return None, words

    def document(self, here: HereDocument, targets: list[Word]) -> str | None:
        if here.body is None:
            return targets[0].text if targets and targets[0].literal else None
        if not here.quoted:
            self.expansions(here.body)
        return here.body if here.quoted or not re.search(r"[$`\\]", here.body) else None

    def expansion(self, node: Node, _stdin: str | None) -> None:
        self.children(node)
        text = self.text(node)
        if "`" in text or ("$(" in text and PATTERN.match(text)):  # the grammar does not look into them here
            self.expansions(text[2:-1])

    def expansions(self, text: str) -> None:
        """What is run in a text that is expanded as in double quotes."""
        found = substitutions(text)
        if found is None:
            self.into.trouble = "it cannot be read as shell text"
        for one in found or []:
            walk = self.nested(f'"{one}"')
            root = parse(walk.raw)
            if root.has_error:
                self.into.trouble = "it cannot be read as shell text"
            for string in strings(root):
                walk.word(string)

    def command(self, node: Node, stdin: str | None) -> None:
        words: list[Word] = []
        name_end = node.start_byte
        for child in node.children:
            if child.type == "command_name":
                words.append(self.word(child.children[0] if child.child_count else child))
                name_end = child.end_byte
            elif child.type == "variable_assignment":
                self.assign(child, lasting=False)
            elif child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                given, more = self.redirect(child)
                stdin = given if given is not None else stdin
                words += more
            else:
                words.append(self.word(child))
        if words:
            sure, whole = name_end < self.doubt, node.end_byte <= self.doubt
            fetched = stdin == DOWNLOADED
            given = None if fetched else stdin
            self.add(SimpleCommand(tuple(words), self.text(node), self.where, given, fetched, sure=sure, whole=whole))
            self.where = folder_after(self.where, words)

    def declaration(self, node: Node, _stdin: str | None) -> None:
        words = []
        for child in node.children:
            if child.type == "variable_assignment":
                self.assign(child)
                words.append(
                    join(bare(self.text(child), first=False)) if child.child_count < 2 else unknown(self.text(child))
                )
            else:
                words.append(self.word(child))
        self.add(SimpleCommand(tuple(words), self.text(node), self.where))

    def assign(self, node: Node, _stdin: str | None = None, lasting: bool = True) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and name.child_count:
            self.children(name)
        word = self.word(value) if value is not None else None
        self.add(Assignment(self.text(name) if name is not None else "", word, self.text(node), lasting))

    def test(self, node: Node, _stdin: str | None) -> None:
        self.children(node)
        commands = read_plain(self.text(node))
        if commands and len(commands) == 1:
            whole = node.end_byte <= self.doubt
            self.add(SimpleCommand(commands[0], self.text(node), self.where, sure=whole, whole=whole))
        else:
            self.add(UnclearPart(self.text(node), "its test is computed"))


def _parts(node: Node) -> list[Node]:
    return [child for child in node.children if child.type != "comment"]


# What `prepare` takes out of a text, and leaves in its double quotes and expansions.
_UNPREPARED = re.compile(r"<<<|(?<![\w-])(?:!|time|coproc)\s")
PATTERN = re.compile(r"\$\{[!#]?\w+(?:\[[^\]]*\])?[#%^,/@]")
WORDS = names("word number string raw_string ansi_c_string concatenation simple_expansion expansion")
OPERATORS = frozenset({"<", ">", ">>", "&>", "&>>", "<&", ">&", ">|", "<&-", ">&-"})
HANDLERS: dict[str, Callable[[_Walk, Node, str | None], None]] = {
    "command": _Walk.command, "list": _Walk.sequence, "pipeline": _Walk.pipeline, "subshell": _Walk.subshell,
    "command_substitution": _Walk.substitution, "process_substitution": _Walk.subshell,
    "redirected_statement": _Walk.statement, "expansion": _Walk.expansion, "function_definition": _Walk.function,
    "declaration_command": _Walk.declaration, "unset_command": _Walk.declaration,
    "variable_assignment": _Walk.assign, "test_command": _Walk.test,
    **dict.fromkeys(
        ("if_statement", "while_statement", "for_statement", "c_style_for_statement", "case_statement"), _Walk.branches
    ),
    "ERROR": _Walk.nothing, "comment": _Walk.nothing,
}  # fmt: skip
