import pytest

from toolroll.host.rpc.codecs import ContentLengthCodec, LineCodec, PeerGoneError, SizeCodec

ONE, TWO = {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "method": "ä😀"}


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize("make", [ContentLengthCodec, SizeCodec, LineCodec])
def test_messages_in_any_pieces(make, step):
    sent = b"".join(map(make().encode, (ONE, TWO, ONE)))
    codec = make()
    assert [one for at in range(0, len(sent), step) for one in codec.feed(sent[at : at + step])] == [ONE, TWO, ONE]


@pytest.mark.parametrize("head", [b"Content-Length: 51\r\n\r\n", b"Content-Length: 9999999999\r\n\r\n"])
def test_a_body_has_a_largest_size(head):
    with pytest.raises(PeerGoneError, match="more than 50 bytes"):
        ContentLengthCodec(50).feed(head)
    with pytest.raises(PeerGoneError, match="more than 50 bytes"):
        SizeCodec(50).feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 24\r\n\r\n",
        b"content-length:24\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 24\r\n\r\n",
    ],
)
def test_headers(header):
    assert ContentLengthCodec().feed(header + b'{"jsonrpc":"2.0","id":1}') == [ONE]


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
    with pytest.raises(PeerGoneError):
        ContentLengthCodec().feed(data)


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_lines_in_any_pieces(step):
    codec = LineCodec(noise=100)
    sent = codec.encode(ONE) + b"  \nnot JSON\n" + codec.encode(TWO) + b'[{"jsonrpc":"2.0","id":1}, 3]\r\n'
    got = [one for at in range(0, len(sent), step) for one in codec.feed(sent[at : at + step])]
    assert got == [ONE, TWO, ONE]


def test_noise_is_counted_between_messages():
    codec, message = LineCodec(noise=100), LineCodec().encode(ONE)
    assert codec.feed(b"noise\n" * 100 + message + b"noise\n" * 100 + message) == [ONE, ONE]
    with pytest.raises(PeerGoneError, match="it said 'noise'"):
        codec.feed(b"noise\n" * 101)


@pytest.mark.parametrize(("size", "passes"), [(50, True), (51, False)])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["whole", "begun"])
def test_a_line_has_a_largest_size(size, passes, end):
    data = b'"' + b"x" * (size - 2) + b'"' + end
    if passes:
        assert LineCodec(50, noise=1).feed(data) == []
    else:
        with pytest.raises(PeerGoneError, match="more than 50 bytes"):
            LineCodec(50).feed(data)
