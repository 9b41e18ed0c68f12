"""Computing in one thread."""

from toolroll.host.models.embedding import numeric


def test_threads_are_given_back():
    get, put = numeric._threads()
    before = get()
    put(2)
    two = get()
    try:
        with numeric.one_thread():
            assert get() == 1
        assert get() == two
    finally:
        put(before)
