"""Pipes of one client that are closed while threads use them."""

import os
import threading

import pytest

from tests.waiting import until
from toolroll.mcp.closable import ClosableReader, ClosableWriter


def test_a_reader_that_waits_ends_when_it_is_closed():
    source, target = os.pipe()
    reader = ClosableReader(source)
    os.write(target, b"one\ntwo\n")
    lines = []
    thread = threading.Thread(target=lambda: lines.extend(iter(reader.next, None)))
    thread.start()
    assert until(lambda: len(lines) == 2)
    reader.close()
    thread.join()
    assert (lines, reader.next()) == ([b"one", b"two"], None)
    reader.close()
    with pytest.raises(BrokenPipeError):  # its descriptor is closed
        os.write(target, b"three\n")
    os.close(target)


def test_a_writer_that_waits_closes_its_descriptor_later():
    """A number that is closed too early may be another file's when the thread writes on."""
    source, target = os.pipe()
    writer = ClosableWriter(target)
    value = "a" * 1_000_000
    writer.put(value)
    thread = threading.Thread(target=writer.flush)
    thread.start()
    assert until(writer._lock.locked)
    writer.close()
    os.fstat(target)
    with open(source, "rb") as pipe:
        assert pipe.read() == f'"{value}"\n'.encode()  # up to the end
    thread.join()
    assert not writer._lock.locked()
