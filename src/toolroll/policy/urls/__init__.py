"""Which URLs may be fetched: parsed strictly, looked up once, and only at public addresses."""

from toolroll.policy.urls.judging import MAX_REDIRECTS, Resolve, Verdict, judge, redirect
from toolroll.policy.urls.target import Target, parse

__all__ = ["MAX_REDIRECTS", "Resolve", "Target", "Verdict", "judge", "parse", "redirect"]
