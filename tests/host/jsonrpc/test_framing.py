import pytest

from toolroll.host.jsonrpc.framing import ContentLengthFraming, LineFraming, MessageTooLargeError, NotProtocolError

ONE, TWO = {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "method": "ä😀"}


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_messages_in_any_pieces(step):
    sent = (
        ContentLengthFraming().encode({"id": 1})
        + ContentLengthFraming().encode({"method": "ä😀"})
        + ContentLengthFraming().encode({"id": 1})
    )
    frames = ContentLengthFraming()
    got = [one for at in range(0, len(sent), step) for one in frames.feed(sent[at : at + step])]
    assert got == [ONE, TWO, ONE]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 24\r\n\r\n",
        b"content-length:24\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 24\r\n\r\n",
    ],
)
def test_headers(header):
    assert ContentLengthFraming().feed(header + b'{"jsonrpc":"2.0","id":1}') == [ONE]


@pytest.mark.parametrize(
    "data",
    [
        b"Starting server...\n",
        b"Content-Length: 5\r\n\r\nhello",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 9999999999\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Type: x\r\n\r\n{}",
        b"Content-" + b"x" * 5000,
    ],
)
def test_what_is_no_message(data):
    with pytest.raises(NotProtocolError):
        ContentLengthFraming().feed(data)


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_lines_in_any_pieces(step):
    framing = LineFraming()
    sent = (
        framing.encode({"id": 1})
        + b"  \nnot JSON\n"
        + framing.encode({"method": "ä😀"})
        + b'[{"jsonrpc":"2.0","id":1}, 3]\r\n'
    )
    got = [one for at in range(0, len(sent), step) for one in framing.feed(sent[at : at + step])]
    assert got == [ONE, TWO, ONE]


def test_noise_between_messages_is_counted_anew():
    framing, message = LineFraming(), LineFraming().encode({"id": 1})
    assert framing.feed(b"noise\n" * 100 + message + b"noise\n" * 100 + message) == [ONE, ONE]
    with pytest.raises(NotProtocolError, match=r"^noise$"):
        framing.feed(b"noise\n" * 101)


@pytest.mark.parametrize(("size", "passes"), [(50, True), (51, False)])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["whole", "begun"])
def test_a_line_has_a_largest_size(size, passes, end):
    data = b'"' + b"x" * (size - 2) + b'"' + end
    if passes:
        assert LineFraming(50).feed(data) == []
    else:
        with pytest.raises(MessageTooLargeError, match="more than 50 bytes"):
            LineFraming(50).feed(data)
