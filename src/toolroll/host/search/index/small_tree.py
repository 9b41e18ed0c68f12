"""What there is to search in a folder with few files: no index is needed for that, and no program."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from toolroll.host.search import list_files as listing
from toolroll.host.search.in_process import FEW
from toolroll.host.search.index.live import Sight

if TYPE_CHECKING:
    from toolroll.host.search.in_process import Glance
    from toolroll.host.search.query import Ground, Scope


def sight(ground: Ground, look: Glance, scope: Scope, most_bytes: int) -> Sight | None:
    """All files, in no order; None if they are not few, or not everything can be read."""
    ground, left = replace(ground), listing.Left()
    try:
        files = list(islice(listing.names(ground, scope, left), FEW + 1))
    except TimeoutError:
        return None
    if len(files) > FEW or ground.unreadable:
        return None
    look.most_bytes = most_bytes
    return Sight(files, False, left=left, few=True, glance=look)


def passed(sight: Sight) -> Sight | None:
    """What was passed over by a search of few files that found nothing; None if it did not come to its end."""
    look = sight.glance
    if look is None or look.looked != len(sight.files):
        return None
    return replace(sight, narrowed=True, binary=look.binary, searched=look.looked - look.big, big=look.big)
