from __future__ import annotations

import pytest

from toolroll.text.web.html.charset import decode

TEXT = "Grüße, naïve café “quoted” €"
META = "<meta charset={}>Grüße"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (TEXT.encode(), "text/html; charset=utf-8", TEXT),
        (TEXT.encode(), "text/html", TEXT),
        (TEXT.encode("cp1252"), "text/html; charset=iso-8859-1", TEXT),  # as browsers have it
        (TEXT.encode("cp1252"), 'text/html; charset="Windows-1252"', TEXT),
        (TEXT.encode("cp1252"), "text/html", TEXT),  # guessed
        (TEXT.encode("utf-8-sig"), "text/html; charset=latin1", TEXT),  # the mark knows better
        (TEXT.encode("utf-16"), "text/plain", TEXT),
        (TEXT.encode("utf-16-le"), "text/plain; charset=utf-16", TEXT),
        (TEXT.encode("utf-16-be"), "text/plain; charset=utf-16be", TEXT),
        ("日本語".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本語"),
        ("中文".encode("gbk"), "text/html; charset=gb2312", "中文"),
        ("Привет".encode("koi8-r"), "text/html; charset=koi8-r", "Привет"),
        (META.format("iso-8859-1").encode("latin-1"), "text/html", META.format("iso-8859-1")),
        (META.format("'ISO-8859-15'").encode("latin-1"), "text/html", META.format("'ISO-8859-15'")),
        (META.format("utf-16").encode(), "text/html", META.format("utf-16")),
        (
            b'<?xml version="1.0" encoding="windows-1251"?>\xcf',
            "application/xml",
            '<?xml version="1.0" encoding="windows-1251"?>П',
        ),
        (META.format("latin1").encode(), "text/html; charset=utf-8", META.format("latin1")),  # the server knows better
        ("Grüße".encode(), "text/html; charset=unicode_escape", "Grüße"),  # no codec of the web
        ("Grüße".encode(), "text/html; charset=punycode", "Grüße"),
        ("Grüße".encode(), "text/html; charset=no-such", "Grüße"),
        (b"a\xffb " + "ü".encode() * 20, "text/plain", "a\ufffdb " + "ü" * 20),  # one broken byte
        (b"", "text/plain", ""),
    ],
)
def test_encodings(body: bytes, content_type: str, text: str) -> None:
    assert decode(body, content_type) == text
