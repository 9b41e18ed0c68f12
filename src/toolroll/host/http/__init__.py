"""HTTP for every engine that talks to a server. The front is `client.Client`; `httpx_transport` serves SDKs.

httpx2's core speaks the protocol; what is ours is the guard: every URL is judged, every name is resolved once and
pinned, every size and time is bounded, redirects follow our rules. May import: `host.runtime`, `policy`, `result`.
"""
