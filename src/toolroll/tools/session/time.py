"""Tell the time."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.tool import Effect, tool

_MAX_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, in one zone and in UTC."""

    time: str
    """ISO 8601 with the offset."""
    zone: str
    weekday: str
    utc: str
    unix: int

    def __str__(self) -> str:
        return f"{self.time} ({self.weekday}, {self.zone})\nUTC {self.utc}, unix {self.unix}"


@tool(Effect.NONE, rare=True)
def time(
    zone: Annotated[str | None, "Time zone such as Europe/Berlin; the machine's own when left out."] = None,
) -> Moment:
    """Tell the current date and time."""
    utc = datetime.datetime.now(datetime.UTC)
    here = utc.astimezone(None if zone is None else _zone(zone))
    return Moment(
        time=here.isoformat(timespec="seconds"),
        zone=getattr(here.tzinfo, "key", None) or here.tzname() or "local",
        weekday=f"{here:%A}",
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        unix=int(utc.timestamp()),
    )


def _zone(name: str) -> datetime.tzinfo:
    import zoneinfo

    if name.upper() in ("UTC", "Z"):
        return datetime.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = _near(name)
    hint = f" Did you mean {', '.join(map(repr, near))}?" if near else " Use a name such as 'Europe/Berlin' or 'UTC'."
    raise ToolError(
        ErrorCode.VALIDATION,
        f"There is no time zone {name!r}.{hint}",
        suggest=tuple(Suggestion("time", {"zone": one}) for one in near),
    )


def _near(name: str) -> list[str]:
    """Zones of this city, or with names like it."""
    import difflib
    import zoneinfo

    zones = {zone.lower(): zone for zone in sorted(zoneinfo.available_timezones())}
    wanted = name.lower().strip().replace(" ", "_")[:100]
    cities = [zone for lower, zone in zones.items() if lower == wanted or lower.rpartition("/")[2] == wanted]
    near = cities or [
        zones[one] for one in difflib.get_close_matches(wanted, list(zones), n=_MAX_SUGGESTIONS, cutoff=0.7)
    ]
    return near[:_MAX_SUGGESTIONS]
