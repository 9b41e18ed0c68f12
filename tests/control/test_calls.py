"""The calls that a process keeps, and how many."""

import pytest

from toolroll.control import calls as module
from toolroll.control.calls import LiveCalls
from toolroll.host.runtime.call import Call
from toolroll.result import Image, Result


def make_call(calls: LiveCalls, text: str, arguments: object = None) -> None:
    calls.begin(Call(name="read"), arguments)(Result("success", text), 0.1)


def test_the_oldest_calls_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CALLS", 3)
    calls = LiveCalls()
    slow = calls.begin(Call(name="bash"), {})
    for text in "abcde":
        make_call(calls, text)
    slow(Result("success", "late"), 1.0)
    found, more = calls.page(None, 10, None)
    assert ([one["text"] for one in found], more) == (["e", "d", "c"], False)
    assert calls._chars == sum(one.size for one in calls.all())
    assert [one.seq for one in calls._whole] == [4, 5, 6]
    with pytest.raises(ValueError, match="There is no call 1"):
        calls.text_of(1)


def test_the_calls_since_a_number_and_those_that_still_run() -> None:
    calls = LiveCalls()
    slow = calls.begin(Call(name="bash"), {})
    for text in "ab":
        make_call(calls, text)
    assert [one.seq for one in calls.all(2)] == [1, 3]
    slow(Result("success", "late"), 1.0)
    assert [one.seq for one in calls.all(2)] == [3]


def test_long_texts_are_kept_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARS", 2_500)
    calls = LiveCalls()
    for letter in "abc":
        make_call(calls, letter * 1_000)
    assert calls.text_of(1)["text"] == "[The text of this call is no longer kept.]"
    assert calls.text_of(2)["text"] == "b" * 1_000
    calls.amend(1, "it is back")
    assert "no longer kept" in calls.text_of(1)["text"]
    calls.amend(3, "short")
    make_call(calls, "d" * 1_000)
    assert [calls.text_of(seq)["text"][0] for seq in (2, 3, 4)] == ["b", "s", "d"]
    monkeypatch.setattr(module, "MAX_CALLS", 3)
    make_call(calls, "e")
    assert calls._chars == sum(one.size for one in calls.all())  # the first was taken off once


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', {"": '{"a": '}),
        ({"a": {1, 2}}, {"a": [1, 2]}),
        ({"a": "\ud800"}, {"": "{'a': '\\ud800'}"}),
    ],
)
def test_any_arguments_are_shown(given: object, shown: object) -> None:
    calls = LiveCalls()
    make_call(calls, "", given)
    assert calls.text_of(1)["arguments"] == shown


def test_a_call_that_raised_has_no_text() -> None:
    calls = LiveCalls()
    calls.begin(Call(name="read"), {})(None, 0.5)
    [[one], _] = calls.page(None, 1, None)
    assert (one["status"], one["text"], one["seconds"]) == ("raised", "", 0.5)


def test_pictures_are_kept_by_their_content_and_never_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_PICTURE_BYTES", 40)
    png, gif = b"\x89PNG\r\n\x1a\n1", b"GIF89a2"
    given = [png, b"RIFF____WAVE", b"<svg onload='x'/>", b"x" * 9, png + b"x" * 90, gif]
    calls = LiveCalls()
    images = [Image(data, "image/svg+xml") for data in given]  # whatever the tool says
    calls.begin(Call(name="read"), {})(Result("success", "", images=images), 0.1)
    found = calls.text_of(1)["pictures"]
    assert found == ["data:image/png;base64,iVBORw0KGgox", "data:image/gif;base64,R0lGODlhMg=="]
    assert (calls.page(None, 1, None)[0][0]["images"], calls._chars) == (6, 2 + len(png) + len(gif))
