"""What `go test` prints."""

import json

from toolroll.text.dev.tests.go import read
from toolroll.text.dev.tests.model import Case, Covered, Failure, Frame, Raw

MODULE = "module example.com/shop\n\ngo 1.22\n"


def raw(output, *, action="run", extra=""):
    return Raw(action, "/w", ".", "", output, extra, MODULE)


def lines(*events):
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events)


def event(action, test=None, package="example.com/shop/cart", **more):
    given = {"Time": "2024-05-01T10:00:00Z", "Action": action, "Package": package}
    return given | ({"Test": test} if test else {}) | more


def test_a_run():
    run = read(
        raw(
            lines(
                event("start"),
                event("run", "TestAdd"),
                event("output", "TestAdd", Output="=== RUN   TestAdd\n"),
                event("output", "TestAdd", Output="--- PASS: TestAdd (0.01s)\n"),
                event("pass", "TestAdd", Elapsed=0.01),
                event("run", "TestSum"),
                event("run", "TestSum/two"),
                event("output", "TestSum/two", Output="    cart_test.go:14: got 3,\n"),
                event("output", "TestSum/two", Output="        want 4\n"),
                event("output", "TestSum/two", Output="    --- FAIL: TestSum/two (0.00s)\n"),
                event("fail", "TestSum/two", Elapsed=0),
                event("output", "TestSum", Output="--- FAIL: TestSum (0.00s)\n"),
                event("fail", "TestSum", Elapsed=0),
                event("run", "TestLater"),
                event("output", "TestLater", Output="    cart_test.go:20: not now\n"),
                event("skip", "TestLater", Elapsed=0),
                event("output", Output="FAIL\n"),
                event("fail", Elapsed=0.3),
            )
        )
    )
    assert [(one.id, one.outcome, one.seconds) for one in run.tests] == [
        ("cart::TestAdd", "passed", 0.01),
        ("cart::TestSum/two", "failed", 0.0),
        ("cart::TestSum", "failed", 0.0),
        ("cart::TestLater", "skipped", 0.0),
    ]
    frame = Frame("cart/cart_test.go", 14)
    assert run.failures == [
        Failure(
            "cart::TestSum/two", "cart/cart_test.go", 14, "failed", "cart_test.go:14: got 3,\n        want 4", [frame]
        )
    ]
    assert run.ended


def test_what_does_not_compile():
    run = read(
        raw(
            lines(
                "# example.com/shop/cart [example.com/shop/cart.test]",
                "cart/cart.go:4:2: undefined: nope",
                event("output", Output="FAIL\texample.com/shop/cart [build failed]\n"),
                event("fail", Elapsed=0),
            )
        )
    )
    said = "cart/cart.go:4:2: undefined: nope"
    failure = Failure("cart", "cart/cart.go", 4, "error", said, [Frame("cart/cart.go", 4)])
    assert run.failures == [failure]

    # An older Go tells of it in plain lines only, beside those of other packages.
    plain = ("# example.com/shop/cart", said, "# example.com/shop/top", "top/a.go:1:1: no", "FAIL\texample.com/shop/cart [build failed]")  # fmt: skip
    run = read(raw(lines(event("pass", "TestTop", package="example.com/shop/top"), *plain)))
    assert (run.failures, len(run.tests), run.ended) == ([failure], 1, True)
    assert read(raw(lines("TestX", *plain), action="discover")).failures == [failure]


def test_a_panic_and_a_failure_without_a_word():
    stack = "panic: no [recovered]\n\tpanic: no\n\ngoroutine 6 [running]:\ntesting.f()\n\t/usr/lib/go/testing.go:9 +0x2\nm.TestX()\n\t/w/cart/a_test.go:3 +0x2e\n"
    run = read(raw(lines(event("output", "TestX", Output=stack), event("fail", "TestX"), event("fail", "TestY"))))
    assert run.failures == [
        Failure("cart::TestX", "cart/a_test.go", 3, "failed", "panic: no [recovered]\n\tpanic: no", [Frame("cart/a_test.go", 3)]),
        Failure("cart::TestY", "cart", None, "failed", "It failed without a message."),
    ]  # fmt: skip


def test_a_package_without_tests_has_an_end():
    run = read(raw(lines(event("output", Output="?   \texample.com/shop/cart\t[no test files]\n"), event("skip"))))
    assert (run.ended, run.tests, run.failures) == (True, [], [])


def test_a_run_that_was_cut_short():
    run = read(raw(lines(event("run", "TestAdd"), event("pass", "TestAdd"), event("run", "TestHang"))))
    assert (run.ended, run.running, len(run.tests)) == (False, "cart::TestHang", 1)


def test_listed():
    output = "TestAdd\nTestSum\nok  \texample.com/shop/cart\t0.002s\n?   \texample.com/shop\t[no test files]\nExampleTop\nok  \texample.com/shop/top\t0.1s\n"
    assert read(raw(output, action="discover")).tests == [
        Case("cart::TestAdd", "cart"),
        Case("cart::TestSum", "cart"),
        Case("top::ExampleTop", "top"),
    ]


def test_coverage_by_line():
    profile = "mode: set\nexample.com/shop/cart/cart.go:3.24,5.2 1 1\nexample.com/shop/cart/cart.go:7.20,9.2 1 0\nexample.com/shop/main.go:4.13,4.20 1 1\n"
    run = read(raw(lines(event("pass", "TestAdd")), extra=profile))
    assert run.coverage == [Covered("cart/cart.go", 6, [7, 8, 9]), Covered("main.go", 1, [])]
