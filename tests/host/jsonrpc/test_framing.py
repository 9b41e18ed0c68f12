import pytest

from toolroll.host.jsonrpc.framing import Frames, NotProtocolError, frame

ONE, TWO = {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "method": "ä😀"}


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_messages_in_any_pieces(step):
    sent = frame({"id": 1}) + frame({"method": "ä😀"}) + frame({"id": 1})
    frames = Frames()
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
    assert Frames().feed(header + b'{"jsonrpc":"2.0","id":1}') == [ONE]


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
        Frames().feed(data)
