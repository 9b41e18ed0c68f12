"""The threads of a request: each has its streams, folder and variables, and so has every thread that one starts."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolroll.host.daemon.request import DaemonRequest, acting_as, divided_by_thread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a daemon on Linux only")


def test_threads_that_a_request_starts_act_for_it(tmp_path):
    folder, source, target = os.open(tmp_path, os.O_RDONLY), os.open(os.devnull, os.O_RDONLY), os.memfd_create("out")
    request = DaemonRequest("call", environment={"MARK": "its own"}, fds=(source, target, os.dup(target), folder))
    found, may_end = [], threading.Event()

    def look(word):
        print(word, file=sys.stderr)
        found.append((os.environ.get("MARK"), os.getcwd()))

    def go_on():
        may_end.wait()
        found.append((os.environ.get("MARK"), sys.stderr.fileno() in request.fds))

    def act():
        with acting_as(request):
            with ThreadPoolExecutor() as pool:
                pool.submit(look, "in a pool").result()
            timer = threading.Timer(0, look, ["in a timer"])  # a class with a `run` of its own
            timer.start()
            timer.join()
            print("for stdout")
            assert sys.stdin.read() == ""
            last.append(threading.Thread(target=go_on))
            last[0].start()

    last = []
    with divided_by_thread():
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        may_end.set()
        last[0].join()
        look("of the daemon")
    written = os.pread(target, 1000, 0).decode()
    request.close()
    assert written == "in a pool\nin a timer\nfor stdout\n"
    assert found == [("its own", str(tmp_path))] * 2 + [("its own", False), (os.environ.get("MARK"), os.getcwd())]
