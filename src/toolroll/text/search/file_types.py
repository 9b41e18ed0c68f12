"""Types of files by the names that ripgrep and editors give them, as globs."""

from __future__ import annotations

import re

from toolroll.result import ErrorCode, ToolError

TEXT_DOCUMENTS = (
    *(".pdf", ".docx", ".pptx", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".odt", ".odp", ".epub"),
    *(".bmp", ".tif", ".tiff"),
)
"""Files that are shown as the text in them."""
_SEARCHED = "|".join(one[1:] for one in (*TEXT_DOCUMENTS, ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ipynb"))
DOCUMENT_EXTENSION = re.compile(rf"[.{{,]({_SEARCHED})(?=[,}}]|$)", re.IGNORECASE)
"""In a path or a glob, an extension of files that are searched as the text in them."""
NAMES_DOCUMENTS = re.compile(f"(?!!).*{DOCUMENT_EXTENSION.pattern}", re.IGNORECASE)
"""A path or glob that asks for such files; not one that leaves them out."""

# Where a type has more or other extensions than its own name.
_GLOBS = {
    "bash": "*.{sh,bash}",
    "c": "*.{c,h}",
    "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}",
    "csharp": "*.cs",
    "html": "*.{html,htm}",
    "javascript": "*.{js,jsx,mjs,cjs}",
    "js": "*.{js,jsx,mjs,cjs}",
    "kotlin": "*.{kt,kts}",
    "markdown": "*.{md,markdown}",
    "md": "*.{md,markdown}",
    "py": "*.{py,pyi}",
    "python": "*.{py,pyi}",
    "ruby": "*.rb",
    "rust": "*.rs",
    "sh": "*.{sh,bash}",
    "ts": "*.{ts,tsx,mts,cts}",
    "typescript": "*.{ts,tsx,mts,cts}",
    "yaml": "*.{yaml,yml}",
}


def glob_of(name: str) -> str:
    """The glob of a type; ToolError if the name cannot be one. A type that is not listed is an extension."""
    if not name.isalnum():
        raise ToolError(ErrorCode.VALIDATION, f"There is no file type {name!r}. Use one such as 'py', or `include`.")
    return _GLOBS.get(name, f"*.{name}")
