"""What one language needs to be known by: its files, its grammar and its query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

MAX_SOURCE_BYTES = 2 << 20  # larger sources are not parsed: they are generated, and an outline of them helps no reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. Each module in `languages` defines one, as `LANGUAGE`.

    The query is tree-sitter's. A capture is named for what is done with it:

    - `function`, `class`, `import` ...: a definition, from its start to its end (see `model.KINDS`);
    - `name`: the name of the innermost definition around it that has none yet;
    - `owner`: the type or table that the definition around it belongs to, where this is written beside the name;
    - `declared`: a declaration of C; `declarators` finds its names and whether they are functions;
    - `scope`: no definition itself, but the parent of those inside it (an `impl`);
    - `decorator`: belongs to the definition after it or around it;
    - `ref.call`, `ref.type`, `ref.import`, `ref.inherit`, `ref.decorator`: a use of a name;
    - `comment`, `text`: a word in it is no use of a name;
    - `part`: a part of a file of several languages, such as its script: listed, and no parent of what is in it;
    - `embedded`, `embedded.expression`: statements, or an expression, of the language `embeds`.
    """

    name: str
    title: str
    query: str
    suffixes: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Names of files without a suffix of their own."""
    programs: tuple[str, ...] = ()
    """Interpreters of its scripts, as named after "#!"."""
    claims: tuple[str, str] | None = None
    """A suffix of another language, and the regular expression by which a source with it is of this one."""
    module: str = ""
    """The Python package of its grammar, if that is not `tree_sitter_` and its name."""
    function: str = "language"
    patterns: bool = True
    """Whether ast-grep knows it, by its name, for structural patterns."""
    call_context: str = ""
    """Code in which `{}` can only be a call: alone, `open(x)` may declare x in C, and be a conversion in Go."""
    word: str = ""
    """Characters of names besides letters, digits and underscores."""
    call_suffix: str = ""
    """A mark behind a name where it is called, as in Rust's `println!`."""
    code: bool = True
    """False for languages without calls and uses."""
    holders: frozenset[str] = frozenset()
    """Kinds, besides the usual ones, whose functions are methods."""
    constants: str = r"\b(?:const|constexpr|static final|final static|static readonly)\b"
    """A regular expression of what stands before the name of a constant."""
    constant_names: Literal["", "upper", "capitalised"] = ""
    """How names of constants are written."""
    scoped_names: bool = False
    """Definitions may be named with their scope (`A::f`) or as a symbol (`:f`)."""
    bodies: frozenset[str] = frozenset()
    """Node types of the bodies of definitions, where the grammar has no field "body"."""
    one_line_signatures: bool = False
    """The signature of a function ends with its first line."""
    prepare: Callable[[bytes], bytes] | None = None
    """Replaces what the grammar cannot parse with blanks."""
    embeds: str = ""
    """The language of the parts that its query captures as `embedded`."""
