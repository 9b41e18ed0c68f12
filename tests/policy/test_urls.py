from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.values import assert_values
from toolroll.policy import urls

PUBLIC = "93.184.215.14"
NAMES = {
    "example.com": [PUBLIC],
    "xn--bcher-kva.example.com": [PUBLIC],
    "xn--strae-oqa.example.com": [PUBLIC],
    "both.example.com": [PUBLIC, "2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
    "half.example.com": [PUBLIC, "10.0.0.1"],
    "inside.example.com": ["192.168.1.9"],
    "cloud.example.com": ["169.254.169.254"],
    "gateway.example.com": ["64:ff9b::5db8:d70e"],
    "tunnel.example.com": ["64:ff9b::7f00:1"],
    "mapped.example.com": ["::ffff:93.184.215.14"],
    "zone.example.com": ["fe80::1%eth0"],
    "odd.example.com": ["no address"],
    "wiki": ["10.1.2.3"],
    "localhost": ["127.0.0.1"],
}


def resolve(name: str) -> list[str]:
    return NAMES.get(name, [])


ALLOWED = [
    ("http://example.com", "http://example.com/"),
    ("HTTPS://EXAMPLE.com/A", "https://example.com/A"),
    ("https://example.com./x", "https://example.com/x"),
    ("https://example.com:443/x", "https://example.com/x"),
    ("http://example.com:8080/x?q=1#part", "http://example.com:8080/x?q=1"),
    ("https://example.com?q=1", "https://example.com/?q=1"),
    ("https://example.com/a b".replace(" ", "%20"), "https://example.com/a%20b"),
    ("https://example.com/é?ö=|", "https://example.com/%C3%A9?%C3%B6=%7C"),
    ("https://example.com/?next=http://127.0.0.1/", "https://example.com/?next=http://127.0.0.1/"),
    ("https://example.com/@me", "https://example.com/@me"),
    ("https://bücher.example.com/", "https://xn--bcher-kva.example.com/"),
    ("https://BÜCHER.example.com/", "https://xn--bcher-kva.example.com/"),
    ("https://bu\u0308cher.example.com/", "https://xn--bcher-kva.example.com/"),
    ("https://straße.example.com/", "https://xn--strae-oqa.example.com/"),
    ("https://both.example.com/", "https://both.example.com/"),
    ("https://gateway.example.com/", "https://gateway.example.com/"),
    ("https://1.1.1.1/", "https://1.1.1.1/"),
    ("https://[2001:4860:4860:0::8888]/", "https://[2001:4860:4860::8888]/"),
]


@pytest.mark.parametrize(("url", "asked"), ALLOWED)
def test_what_may_be_fetched(url: str, asked: str) -> None:
    verdict = urls.judge(url, resolve)
    assert (verdict.decision, verdict.reason) == ("allow", "")
    assert verdict.target is not None
    assert verdict.target.url == asked


DENIED = [
    ("", "only http:// and https://"),
    ("example.com/x", "only http:// and https://"),
    ("ftp://example.com/", "only http:// and https://"),
    ("file:///etc/passwd", "only http:// and https://"),
    ("http:example.com", "a host must follow"),
    ("http:/example.com", "a host must follow"),
    ("http:///example.com", "a host must follow"),
    ("http://", "host or port"),
    ("http://:80/", "host or port"),
    ("http://example.com:/", "host or port"),
    ("http://example.com:080/", "host or port"),
    ("http://example.com:0/", "host or port"),
    ("http://example.com:+80/", "host or port"),
    ("http://example.com:70000/", "no port 70000"),
    ("http://user@example.com/", "user name or password"),
    ("http://example.com@127.0.0.1/", "user name or password"),
    ("http://example.com#@127.0.0.1/", "put a slash"),
    ("http://example.com?@127.0.0.1/", "put a slash"),
    ("http://example.com\\@127.0.0.1/", "'\\\\\\\\'"),
    (" http://example.com/", "' '"),
    ("http://example.com/\r\nHost: x", "'\\\\r'"),
    ("http://example.com/\x7f", "'\\\\x7f'"),
    ("http://example.com/\u2028", "'\\\\u2028'"),
    ("http://example.com/\ud800", "'\\\\ud800'"),
    ("http://example.com/" + "x" * 9000, "longer than"),
    ("http://example..com/", "an empty part"),
    ("http://.example.com/", "an empty part"),
    ("http://-x.example.com/", "'-x'"),
    ("http://x-.example.com/", "'x-'"),
    ("http://exa%6dple.com/", "'exa%6dple'"),
    ("http://a,b.example.com/", "'a,b'"),
    ("http://" + "x" * 64 + ".com/", "which no name has"),
    ("http://" + "x." * 130 + "com/", "longer than 253"),
    ("http://127.1/", "four decimal parts"),
    ("http://2130706433/", "four decimal parts"),
    ("http://0x7f.1/", "four decimal parts"),
    ("http://0x7f000001/", "four decimal parts"),
    ("http://0177.0.0.1/", "four decimal parts"),
    ("http://1.1.1.1./", "four decimal parts"),
    ("http://1.1.1.256/", "four decimal parts"),
    ("http://example.0x1/", "four decimal parts"),
    ("http://\uff11\uff12\uff17.0.0.1/", "read differently"),
    ("http://①.example.com/", "read differently"),
    ("http://127。0。0。1/", "read differently"),
    ("http://localho\u017ft/", "read differently"),
    ("http://\u212aelvin.example.com/", "read differently"),
    ("http://\u0130.example.com/", "read differently"),
    ("http://exam\u00adple.com/", "read differently"),
    ("http://exam\u200bple.com/", "read differently"),
    ("http://exam\u034fple.com/", "read differently"),
    ("http://exam\ufe0fple.com/", "read differently"),
    ("http://[::1/", "host or port"),
    ("http://[::1]x/", "host or port"),
    ("http://[::ffff:1.1.1.1]/", "plain IPv6"),
    ("http://[fe80::1%25eth0]/", "plain IPv6"),
    ("http://[v1.a]/", "plain IPv6"),
    ("http://[1:2]/", "not an IPv6 address"),
    ("http://example.com:22/", "port 22 is not a web port"),
    ("http://example.com:6379/", "port 6379 is that of a database"),
    ("http://localhost/", "inside a machine or a network"),
    ("http://a.localhost./", "inside a machine or a network"),
    ("http://printer.local/", "inside a machine or a network"),
    ("http://metadata.google.internal/", "inside a machine or a network"),
    ("http://wiki/", "inside a machine or a network"),
    ("http://127.0.0.1/", "not at a public address"),
    ("http://169.254.169.254/latest/meta-data/", "not at a public address"),
    ("http://[::1]/", "not at a public address"),
    ("http://[64:ff9b::5db8:d70e]/", "not at a public address"),
    ("http://half.example.com/", "not at a public address"),
    ("http://inside.example.com/", "not at a public address"),
    ("http://cloud.example.com/", "not at a public address"),
    ("http://tunnel.example.com/", "not at a public address"),
    ("http://mapped.example.com/", "not at a public address"),
    ("http://zone.example.com/", "not at a public address"),
    ("http://odd.example.com/", "not at a public address"),
    ("http://none.example.com/", "has no address"),
]


@pytest.mark.parametrize(("url", "reason"), DENIED)
def test_what_may_not(url: str, reason: str) -> None:
    verdict = urls.judge(url, resolve)
    assert (verdict.decision, verdict.addresses) == ("deny", ())
    assert reason.replace("\\\\", "\\") in verdict.reason


def test_a_name_is_looked_up_once_and_an_address_never() -> None:
    asked: list[str] = []

    def counted(name: str) -> list[str]:
        asked.append(name)
        return [PUBLIC]

    assert urls.judge("http://Example.com./", counted).addresses == (PUBLIC,)
    assert asked == ["example.com"]
    assert urls.judge("https://1.1.1.1/", counted).addresses == ("1.1.1.1",)
    assert urls.judge("https://[2606:4700::1111]/", counted).addresses == ("2606:4700::1111",)
    urls.judge("http://localhost/", counted)
    urls.judge("http://example.com:22/", counted)
    assert asked == ["example.com"]


@pytest.mark.parametrize(
    ("url", "allow", "decision"),
    [
        ("http://127.0.0.1:8080/x", ("127.0.0.1:8080",), "allow"),
        ("http://127.0.0.1:8081/x", ("127.0.0.1:8080",), "deny"),
        ("http://127.0.0.1/x", ("127.0.0.1:8080",), "deny"),
        ("http://127.0.0.1/x", ("127.0.0.1",), "allow"),
        ("https://127.0.0.1/x", ("127.0.0.1",), "allow"),
        ("http://127.0.0.1:8080/x", ("127.0.0.1",), "deny"),  # a host alone is at the scheme's own port
        ("http://127.0.0.1/x", ("127.0.0.1:80",), "allow"),
        ("http://127.0.0.2/x", ("127.0.0.1",), "deny"),
        ("http://127.1/x", ("127.0.0.1", "127.1"), "deny"),  # also what is allowed has one spelling
        ("http://[::1]:9200/", ("[::1]:9200",), "allow"),
        ("http://localhost:6379/", ("LOCALHOST:6379",), "allow"),
        ("http://wiki/", ("wiki",), "allow"),
        ("http://wiki.evil.example.com/", ("wiki",), "deny"),
        ("http://inside.example.com/", ("inside.example.com",), "allow"),
        ("http://cloud.example.com/", ("cloud.example.com",), "deny"),  # a trusted name that leads to the metadata
        ("http://169.254.169.254/", ("169.254.169.254",), "allow"),  # this very address, by name of the operator
    ],
)
def test_hosts_that_the_operator_opens(url: str, allow: tuple[str, ...], decision: str) -> None:
    verdict = urls.judge(url, resolve, allow)
    assert (verdict.decision, verdict.named) == (decision, decision == "allow")


def test_a_public_host_is_allowed_without_being_named() -> None:
    assert urls.judge("http://example.com/", resolve, ("wiki",)).named is False


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("b?x=1", "https://example.com/dir/b?x=1"),
        ("?x", "https://example.com/dir/a?x"),
        ("../up", "https://example.com/up"),
        ("//other.example.com/", "https://other.example.com/"),
        ("http://other.example.com/", "http://other.example.com/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),  # legal, and denied when it is judged
    ],
)
def test_where_a_redirect_leads(location: str, url: str) -> None:
    assert urls.redirect("https://example.com/dir/a", location) == url


@pytest.mark.parametrize(
    "location",
    ["", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "http:/127.0.0.1/", "http:127.0.0.1", "https:///x",
     "\\\\127.0.0.1\\", "/a\r\nSet-Cookie: x", "///127.0.0.1/", "http://u:p@example.com/", "//127.1/", "http://[::1/"],
)  # fmt: skip
def test_redirects_that_lead_nowhere(location: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        urls.redirect("https://example.com/dir/a", location)


PIECES = st.sampled_from(
    ["http://", "https:", "//", "/", "\\", "@", ":", "#", "?", "[", "]", "%2e", "%00", ".", "\t", " ", "\u3002", "\uff11",
     "127.0.0.1", "0x7f", "1", "::1", "::ffff:", "example.com", "localhost", "user", "80", "22", "e\u0301", "\u2100"]
)  # fmt: skip


@given(
    st.text()
    | st.lists(PIECES, max_size=8).map("".join)
    | st.lists(PIECES, max_size=8).map(lambda p: "http://" + "".join(p))
)
@example("http://example.com/")
def test_what_is_allowed_reads_the_same_everywhere(url: str) -> None:
    """Another parser must find the same host in whatever we allow; and no text is too odd for a verdict."""
    seen: list[str] = []

    def public(name: str) -> list[str]:
        seen.append(name)
        return [PUBLIC]

    verdict = urls.judge(url, public)
    assert len(seen) <= 1
    if verdict.decision == "allow":
        assert verdict.target is not None
        other = urlsplit(url)
        host = (other.hostname or "").removesuffix(".")
        if host.isascii():
            assert host == verdict.target.host.strip("[]") or host.count(":") > 1
        assert other.username is None
        assert (other.port or verdict.target.port) == verdict.target.port


def test_values_stay_as_they_are() -> None:
    assert_values(urls)
