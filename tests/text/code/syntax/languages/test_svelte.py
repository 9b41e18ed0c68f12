"""A component of Svelte: its scripts, and the expressions of its template."""

from toolroll.text.code.syntax.tags import tags


def test_a_broken_script_is_told_and_a_broken_expression_is_not():
    assert tags("svelte", b"<p>a</p>\n<script>\nlet a = ;\n</script>\n").broken == 3
    found = tags("svelte", b"<p>{a +}</p>\n<script>\nlet a = 1;\n</script>\n")
    assert (found.broken, [tag.name for tag in found.definitions]) == (0, ["script", "a"])


def test_expressions_are_uses_and_words_are_not():
    source = b'<script>let run = 1</script><A b={{x: go(1), y: 2}} title="run">run {run} {go(2)}{go(3)}</A>'
    found = tags("svelte", source)
    uses = [(use.kind, use.name, use.column) for use in found.uses_of()]
    assert uses == [
        ("call", "A", source.index(b"<A") + 2),
        *(("call", "go", source.index(b"go(%d" % number) + 1) for number in (1, 2, 3)),
    ]
    quiet = [
        found.is_quiet(at) for at in (source.index(b'"run') + 1, source.index(b">run") + 1, source.index(b"{run") + 1)
    ]
    assert quiet == [True, True, False]
