"""Which URLs may be fetched: parsed strictly, looked up once, and only at public addresses."""

from toolroll.policy.urls.target import Target, parse
from toolroll.policy.urls.verdicts import MAX_REDIRECTS, Resolve, UrlVerdict, judge, redirect

__all__ = ["MAX_REDIRECTS", "Resolve", "Target", "UrlVerdict", "judge", "parse", "redirect"]
