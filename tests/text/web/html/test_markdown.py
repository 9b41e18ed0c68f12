from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolroll.text.web.html.markdown import HtmlPage, convert

URL = "https://example.com/dir/page.html"


def markdown(page: str) -> str:
    return convert(page, URL, main=False).markdown


ROWS = [
    ("", ""),
    ("plain &amp; simple &lt;b&gt; &#8364;", "plain & simple <b> €"),
    ("a\n  b\t c&nbsp;d", "a b c d"),
    ("<p>one<p>two</p>three", "one\n\ntwo\n\nthree"),
    ("one<br>two<br/> three", "one\ntwo\nthree"),
    ("<h1>A <em>b</em></h1><h3>C\nd</h3><h2></h2>", "# A *b*\n\n### C d"),
    ("<b>bold</b>, <strong> x </strong>y <i>it</i> <s>no</s>", "**bold**, **x** y *it* ~~no~~"),
    ("<b></b><b> </b>x", "x"),
    ("<code>a_b</code> <kbd>`x`</kbd>", "`a_b` `` `x` ``"),
    ('<a href="/x?a=1&amp;b=2">L</a>', "[L](https://example.com/x?a=1&b=2)"),
    ("<a href=x>L</a><a href='../y'> M </a>z", "[L](https://example.com/dir/x) [M](https://example.com/y) z"),
    ("<a href=#a>here</a> <a href='javascript:f()'>js</a> <a>none</a> <a href='data:x'>d</a>", "here js none d"),
    ('<a href="http://[bad">x</a> <a href="/a (b)">y</a>', "x [y](https://example.com/a%20%28b%29)"),
    ("<a href=/c><div><h3>Card</h3><p>text</p></div></a>", "[Card text](https://example.com/c)"),
    ('<base href="https://cdn.example.com/"><a href=x>L</a>', "[L](https://cdn.example.com/x)"),
    ('<img src=/i.png alt="A  cat"><img src=x><img alt=word src="data:image/png;base64,xx">', "![A cat](https://example.com/i.png)word"),
    ("a <img aria-hidden=true alt='x^2' src=/m.svg> <img aria-hidden=true src=/i.png>", "a ![x^2](https://example.com/m.svg)"),
    ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
    ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"),
    ("<ol start=9><li>a<li><p>b</p><p>c</p></ol>", "9. a\n\n10. b\n\n    c"),
    ("<ol><li>a<pre>x\n  y</pre></ol>", "1. a\n   ```\n   x\n     y\n   ```"),
    ("<li>lonely", "lonely"),
    ("<dl><dt>T<dd>D<dt>U<dd>E</dl>", "**T**\n\n: D\n\n**U**\n\n: E"),
    ("<blockquote>a<p>b<blockquote>c</blockquote></blockquote>", "> a\n>\n> b\n>\n> > c"),
    ("<pre>\n  a\n\n b  \n</pre>", "```\n  a\n\n b\n```"),
    ('<pre><code class="hljs language-c++">x &lt; <b>y</b></code></pre>', "```c++\nx < y\n```"),
    ('<div class="highlight"><pre class="lang-py">```\n</pre></div>', "````py\n```\n````"),
    ("<table><tr><th>A<th>B<tr><td>1<td>2|3<tr><td>4</table>", "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n| 4 |  |"),
    ("<table><caption>C</caption><tbody><tr><td>1</td><td>2</td></tr></tbody></table>", "C\n\n|  |  |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><td><table><tr><td>x</td><td>y</td></tr></table></td><td><p>z</p></td></tr></table>", "|  |  |\n| --- | --- |\n| x | y |\n\nz"),
    ("<table><tr><td><p>only</p><p>layout</p></table>", "only\n\nlayout"),
    ("<p><span style='white-space: pre-wrap'>a <b>b</b></span>", "a **b**"),
    ("a<hr>b", "a\n\n---\n\nb"),
    ("<details><summary>S</summary>text</details>", "S\n\ntext"),
    ("<script>if (a < b) { '</p>' }</script>x<style>p{}</style><template>t</template><svg><text>s</text></svg>", "x"),
    ("<div hidden>a</div><p style='color:red; DISPLAY : none'>b</p><p aria-hidden=true>c<span style=visibility:hidden>d", ""),
    ("<noscript>read me</noscript><select><option>no</select><button>no</button><textarea>no</textarea>", "read me"),
    ("<head><title>T</title><body>text", "text"),
    ("<head><meta charset=x><p>text", "text"),
    ("<head>text", "text"),
    ("<!doctype html><!-- a > b --><?php x ?><![CDATA[y]]>z<!-->w", "zw"),
    ("a < b << c <3 > d", "a < b << c <3 > d"),
    ("</p></div>a</span></table>b", "ab"),
    ("<p>a</b></i>b<td>c", "abc"),
    ("<A HREF=/x CLASS=y>L</A>", "[L](https://example.com/x)"),
    ('<a href="/x" href="/y" title="a>b">L</a>', "[L](https://example.com/x)"),
    ("x<a href='/unclosed>L</a>", "x"),
    ("&#65;&#x42;&#99999999999;&#xfffffffff;&unknown;&copy", "AB\ufffd\ufffd&unknown;©"),
    ("<!-- never closed <p>a", ""),
    ("a\u200bb\ufeffc\u00add", "abcd"),
    ("10<sup>6</sup> m<sup>-2</sup> 1<sup>st</sup> x<sup><a href=#n>[1]</a></sup>", "10^6 m^-2 1st x[1]"),
    ("<code>f(<em>x</em>)</code> <code><a href=/y>Y</a></code> <code>``a``<br>b</code>", "`f(x)` [`Y`](https://example.com/y) ``` ``a``\nb ```"),
    ("<h2><button>Why?</button></h2>so<h3>T<a href=#t>¶</a></h3>", "## Why?\n\nso\n\n### T"),
    ("<q>hi</q> <math><msup><mn>2</mn><mn>3</mn></msup><annotation encoding='application/x-tex'>2^3</annotation></math>", '"hi" $2^3$'),
    ("<ol><li value=5>five<li>six</ol>", "5. five\n6. six"),
    ("a<!-- b --!>c", "ac"),
    ("<table><tr><th>N<th colspan=2>G<tr><td rowspan=2>x<td>1<td>2<tr><td>3<td>4<tr><td colspan=99>t<td>5</table>",
     "| N | G | G |  |\n| --- | --- | --- | --- |\n| x | 1 | 2 |  |\n| x | 3 | 4 |  |\n| t |  |  | 5 |"),
    ("<table><tr><td>a<td>b<td rowspan=2>c<tr><td>d</table>", "|  |  |  |\n| --- | --- | --- |\n| a | b | c |\n| d |  | c |"),
    ("<table><tr><th>K<td>V<tr><th>L<td><ul><li>x<li>y</ul></table>", "|  |  |\n| --- | --- |\n| K | V |\n| L | x y |"),
    ("<table><tr><td>a&#31;td 9 9 b&#x1E;c\x1fd&#310;<td>y</table><table><tr><td role=main>z</table>", "|  |  |\n| --- | --- |\n| atd 9 9 bcdĶ | y |\n\nz"),
    ("<table><tr><th><th></tr></table>a", "a"),
    ("<meta http-equiv=Refresh content='0; url=/next'>", "The page leads on to https://example.com/next"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "expected"), ROWS)
def test_pages(page: str, expected: str) -> None:
    assert markdown(page) == expected


PAGE = "<title> My\n page </title><nav>menu</nav>{}<footer>imprint</footer>"
LONG = "words " * 40


@pytest.mark.parametrize(
    ("inner", "shown", "whole"),
    [
        (f"<main><p>{LONG}</p></main>", LONG.strip(), False),
        (f"<div role=main>{LONG}</div>", LONG.strip(), False),
        (f"<article>{LONG}</article>", LONG.strip(), False),
        (f"<table><tr><td>side<td role=main>{LONG}</table>", LONG.strip(), False),
        (f"<main hidden>{LONG}</main>", "menu\n\nimprint", True),
        ("<main>short</main>", "menu\n\nshort\n\nimprint", True),
        (
            f"<article>{LONG}</article><article>x</article>",
            f"menu\n\n{LONG}\n\nx\n\nimprint".replace(" \n", "\n"),
            True,
        ),
        (f"<main>{LONG}</main><main>x</main>", f"menu\n\n{LONG}\n\nx\n\nimprint".replace(" \n", "\n"), True),
    ],
)
def test_the_main_part(inner: str, shown: str, whole: bool) -> None:
    assert convert(PAGE.format(inner), URL) == HtmlPage("My page", shown, whole)


def test_all_of_a_page() -> None:
    found = convert(PAGE.format(f"<main>{LONG}</main>"), URL, main=False)
    assert found == HtmlPage("My page", f"menu\n\n{LONG.strip()}\n\nimprint", True)


HOSTILE = {
    "comments": "<!--" * 50_000,
    "angles": "<" * 200_000,
    "openings": "<a " * 60_000,
    "quotes": '<a b="' * 30_000,
    "single quotes": "<a b='" * 30_000 + '<c d="' * 30_000,
    "equals": "<a" + "=" * 200_000,
    "blanks": "<a" + " " * 300_000 + "b",
    "attributes": "<a " + "b=c " * 50_000,
    "declarations": "<!" * 100_000,
    "closings": "</b>" * 50_000,
    "scripts": "<script>" * 30_000,
    "titles": "<title>" * 30_000,
    "divs": "<div>" * 20_000,
    "inline": "<b>" * 20_000,
    "links": "<a href=x><table>" * 10_000,
    "lists": "<ul><li>x" * 10_000,
    "bare lists": "<ul>" * 20_000 + "<li>x",
    "quoted": "<blockquote>" * 20_000 + "x<br>" * 2_000,
    "tables": "<table><tr><td>" * 10_000,
    "entities": "&" * 300_000,
    "numbers": "&#" + "9" * 200_000 + ";",
    "ticks": "<pre>" + "`" * 200_000,
    "spans": "<table><tr>" + "<th colspan=60 rowspan=9999>x" * 60 + "<tr><td>y" * 2_000,
    "columns": "<table><tr>" + "<td>x" * 20_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_takes_no_longer_than_a_good_one(page: str) -> None:
    started = time.process_time()
    convert(page, URL)
    assert time.process_time() - started < 10


TAGS = st.sampled_from([
    "p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "a", "b", "pre", "code", "blockquote", "h1", "main", "head",
    "body", "title", "script", "svg", "br", "img", "dl", "dt", "dd",
])  # fmt: skip
NOISE = st.one_of(
    TAGS.map("<{}>".format),
    TAGS.map("</{}>".format),
    st.text(max_size=8),
    st.sampled_from(["<", "<!--", "&", " href='x", "\0"]),
)


@given(st.lists(NOISE, max_size=60).map("".join))
def test_no_page_is_too_odd(page: str) -> None:
    found = convert(page, URL)
    assert found == convert(page, URL)
    assert all(line == line.rstrip(" ") or "|" in line or "`" in found.markdown for line in found.markdown.split("\n"))
