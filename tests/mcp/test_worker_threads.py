"""Leader/follower threads: no message waits behind a long one, and every message that was read is handled."""

import queue
import threading
import time

import pytest

from tests.waiting import until
from toolroll.mcp import worker_threads
from toolroll.mcp.worker_threads import WorkerThreads


class Scene:
    """Threads that are fed by hand; its watch runs in a thread of its own."""

    def __init__(self, handle, most=32):
        self.feed = queue.Queue()
        self.threads = WorkerThreads(self.feed.get, handle, most)
        self.watch = threading.Thread(target=self.threads.run)
        self.watch.start()

    def end(self):
        self.feed.put(None)
        self.watch.join(10)
        assert not self.watch.is_alive()


@pytest.fixture
def scene():
    scenes = []

    def make(handle, most=32):
        scenes.append(Scene(handle, most))
        return scenes[-1]

    yield make
    for one in scenes:
        one.end()


def test_short_work_stays_with_one_thread_and_in_order(scene):
    done = []
    one = scene(lambda message: done.append((message, threading.current_thread())))
    for number in range(500):
        one.feed.put(number)
    one.end()
    one.feed.put(None)
    assert [message for message, _ in done] == list(range(500))
    assert len({thread for _, thread in done}) <= 2  # a busy machine may make one of them look long


def test_threads_that_wait_for_work_end_with_the_input(scene):
    """A daemon goes on after the session."""
    at_work, threads = threading.Barrier(3), set()

    def handle(_message):
        threads.add(threading.current_thread())
        at_work.wait()

    one = scene(handle)
    for number in range(3):  # at once, in three threads
        one.feed.put(number)
    assert until(lambda: one.threads._spare >= 2)
    one.end()
    one.feed.put(None)
    for thread in threads:
        thread.join()
    assert len(threads) == 3


def test_what_comes_after_long_work_does_not_wait(scene):
    go, done = threading.Event(), queue.Queue()

    def handle(message):
        if message == "long":
            assert go.wait(10)
        done.put(message)

    one = scene(handle)
    for _ in range(3):
        one.feed.put("long")
    one.feed.put("short")
    assert done.get(timeout=10) == "short"
    go.set()
    assert [done.get(timeout=10) for _ in range(3)] == ["long"] * 3


def test_whoever_begins_to_read_is_asked_to_begin_before_it_takes():
    go, feed, seen = threading.Event(), queue.Queue(), []

    def take():
        seen.append(("take", threading.current_thread()))
        return feed.get()

    def handle(message):
        if message == "long":
            assert go.wait(10)

    threads = WorkerThreads(take, handle, begin=lambda: seen.append(("begin", threading.current_thread())))
    watch = threading.Thread(target=threads.run)
    watch.start()
    for message in ("short", "long", "short", None):
        feed.put(message)
    watch.join(10)
    go.set()
    assert not watch.is_alive()
    readers = [thread for what, thread in seen if what == "begin"]
    assert len(readers) >= 2
    for reader in readers:
        assert next(what for what, thread in seen if thread is reader) == "begin"


def test_one_who_is_kept_at_its_beginning_does_not_keep_others():
    go, feed, done, first = threading.Event(), queue.Queue(), queue.Queue(), [True]

    def begin():
        if first and first.pop():
            assert go.wait(10)

    threads = WorkerThreads(feed.get, done.put, begin=begin)
    watch = threading.Thread(target=threads.run)
    watch.start()
    feed.put("message")
    assert done.get(timeout=10) == "message"
    go.set()
    feed.put(None)
    watch.join(10)
    assert not watch.is_alive()


def test_it_wakes_after_a_quiet_time(scene):
    go, done = threading.Event(), queue.Queue()

    def handle(message):
        if message == "long":
            assert go.wait(10)
        done.put(message)

    one = scene(handle)
    time.sleep(0.8)  # longer than it looks without work
    one.feed.put("long")
    one.feed.put("short")
    assert done.get(timeout=10) == "short"
    go.set()
    assert done.get(timeout=10) == "long"


def test_with_all_threads_busy_jobs_wait_and_others_do_not(scene):
    go, done, busy = threading.Event(), queue.Queue(), queue.Queue()

    def handle(message):
        if message == "ping":
            done.put("pong")
            return

        def job():
            busy.put(threading.current_thread())
            assert go.wait(10)
            done.put(message)

        assert one.threads.work(job, True)

    one = scene(handle, most=3)
    for number in range(10):
        one.feed.put(number)
    one.feed.put("ping")
    assert done.get(timeout=10) == "pong"
    assert busy.qsize() <= 4
    go.set()
    assert sorted(done.get(timeout=10) for _ in range(10)) == list(range(10))


def test_when_nothing_comes_to_its_end_no_more_is_read(scene):
    go, done, kept = threading.Event(), queue.Queue(), queue.Queue()

    def handle(message):
        kept.put(message)
        assert go.wait(60)
        done.put(message)

    one = scene(handle, most=3)
    for number in range(20):
        one.feed.put(number)
    assert [kept.get(timeout=30) for _ in range(7)] == list(range(7))
    time.sleep(0.1)  # of one that reads on without an end, more would come
    assert kept.qsize() == 0
    go.set()
    assert sorted(done.get(timeout=30) for _ in range(20)) == list(range(20))


def test_without_messages_it_ends():
    threads = WorkerThreads(lambda: None, lambda _: None)
    threads.run()


def test_too_many_jobs_are_refused(scene, monkeypatch):
    monkeypatch.setattr(worker_threads, "_MAX_QUEUED_JOBS", 2)
    go, done, accepted = threading.Event(), queue.Queue(), queue.Queue()

    def handle(message):
        def job():
            assert go.wait(10)
            done.put(message)

        accepted.put(one.threads.work(job, True))

    one = scene(handle, most=1)
    for number in range(6):
        one.feed.put(number)
    assert [accepted.get(timeout=10) for _ in range(5)] == [True, True, False, False, False]
    go.set()
    assert accepted.get(timeout=10) is True
    assert sorted(done.get(timeout=10) for _ in range(3)) == [0, 1, 2]


def test_only_the_reader_is_the_reader(scene):
    seen, go = queue.Queue(), threading.Event()

    def handle(message):
        seen.put(one.threads.is_reader())
        if message == "long":
            one.threads.hand_over()
            seen.put(one.threads.is_reader())
            assert go.wait(10)

    one = scene(handle)
    one.feed.put("long")
    assert [seen.get(timeout=10) for _ in range(2)] == [True, False]
    one.feed.put("short")
    assert seen.get(timeout=10) is True
    assert one.threads.is_reader() is False
    go.set()


def test_a_spare_thread_becomes_the_reader_before_a_new_one_is_made():
    threads = WorkerThreads(lambda: None, lambda _: None)
    threads._threads, threads._spare, threads._busy = 3, 2, True
    threads._promote()
    assert (threads._threads, threads._spare, threads._busy, threads._reader) == (3, 1, False, None)
    assert threads._help() is True  # it was promoted already
    assert (threads._threads, threads._spare) == (3, 2)
    threads._spare = worker_threads._MAX_SPARE_THREADS
    assert threads._help() is False
    assert (threads._threads, threads._spare) == (2, 4)
    threads._spare, threads._ended = 0, True
    assert threads._help() is False
    assert (threads._threads, threads._spare) == (1, 0)


def test_a_thread_is_busy_until_it_is_done_or_no_longer_the_reader():
    threads = WorkerThreads(lambda: None, lambda _: None)
    threads._reader = threading.get_ident()
    seen = []
    assert threads._do(lambda: seen.append(threads._busy)) is True
    assert (seen, threads._busy, threads._serial) == ([True], False, 1)
    assert [threads._sleeps(quiet) for quiet in (99, 100)] == [False, True]
    threads._reader = None
    assert threads._do(seen.append, 1) is False
    assert (threads._busy, threads._stir.is_set(), threads._sleeps(100)) == (True, True, False)
    assert threads._read() is False  # the input ends
    assert threads._ended


def test_few_threads_stay_when_there_is_nothing_to_do(scene):
    go, busy = threading.Event(), queue.Queue()

    def handle(message):
        busy.put(message)
        assert go.wait(10)

    before = threading.active_count()
    one = scene(handle)
    for number in range(12):
        one.feed.put(number)
    assert sorted(busy.get(timeout=30) for _ in range(12)) == list(range(12))
    assert threading.active_count() >= before + 13
    go.set()
    assert until(lambda: threading.active_count() <= before + 6)  # the watch, the reader, and four that wait


def test_a_message_that_is_slow_to_begin_outlives_the_end_of_the_input():
    messages, go = iter([1]), threading.Event()
    threads = WorkerThreads(lambda: next(messages, None), lambda _: go.wait(10))
    threads.run()  # until another thread has seen the end
    assert threads.is_working
    go.set()
    assert until(lambda: not threads.is_working)
