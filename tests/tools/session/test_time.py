"""Tell the time."""

import datetime
import time as clock
import zoneinfo

import pytest

from toolroll.result import ErrorCode, ToolError
from toolroll.tools.session.time import Moment, time


def test_now_in_a_zone():
    before = int(clock.time())
    now = time("Asia/Tokyo")
    assert before <= now.unix <= clock.time()
    there = datetime.datetime.fromtimestamp(now.unix, zoneinfo.ZoneInfo("Asia/Tokyo"))
    utc = datetime.datetime.fromtimestamp(now.unix, datetime.UTC)
    assert now == Moment(there.isoformat(), "Asia/Tokyo", f"{there:%A}", f"{utc:%Y-%m-%dT%H:%M:%SZ}", now.unix)
    assert now.time.endswith("+09:00")


@pytest.mark.parametrize("zone", ["UTC", "utc", "Z"])
def test_utc(zone):
    now = time(zone)
    assert (now.zone, now.time[:19], now.time[19:]) == ("UTC", now.utc[:19], "+00:00")


@pytest.mark.parametrize(("zone", "offset"), [("UTC-3", "+03:00"), ("UTC0", "+00:00")])
def test_the_zone_of_the_machine(monkeypatch, zone, offset):
    monkeypatch.setenv("TZ", zone)
    clock.tzset()
    try:
        now = time()
    finally:
        monkeypatch.undo()
        clock.tzset()
    assert (now.zone, now.time[19:]) == ("UTC", offset)


def test_the_text_begins_with_the_date():
    now = Moment("2024-02-29T12:00:00+01:00", "Europe/Berlin", "Thursday", "2024-02-29T11:00:00Z", 1709204400)
    assert str(now) == "2024-02-29T12:00:00+01:00 (Thursday, Europe/Berlin)\nUTC 2024-02-29T11:00:00Z, unix 1709204400"


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Berlin", ["Europe/Berlin"]),
        ("europe/berlin", ["Europe/Berlin"]),
        ("new york", ["America/New_York"]),
        ("Europe/Berlni", ["Europe/Berlin"]),
        ("Nowhere/At_All", []),
    ],
)
def test_an_unknown_zone(zone, near):
    with pytest.raises(ToolError) as caught:
        time(zone)
    hint = f"Did you mean {near[0]!r}" if near else "Use a name such as 'Europe/Berlin' or 'UTC'."
    assert caught.value.code == ErrorCode.VALIDATION
    assert caught.value.message.startswith(f"There is no time zone {zone!r}. {hint}")
    assert [one.arguments["zone"] for one in caught.value.suggest][:1] == near


@pytest.mark.parametrize(
    "zone", ["", " ", "..", "../x", "/etc/passwd", "America", "a\0b", "\ud800", "zone.tab", "x" * 5000, "-1", "+02:00"]
)
def test_hostile_zones_are_refused(zone):
    with pytest.raises(ToolError, match="There is no time zone"):
        time(zone)


def test_through_a_kit(kit):
    result = kit.call("time", {"zone": "UTC"})
    assert sorted(result.data) == ["time", "unix", "utc", "weekday", "zone"]
    assert result.text.startswith(result.data["time"][:10])
