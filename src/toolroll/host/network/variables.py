"""The variables by which commands find the proxy, and folders for what package managers keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from toolroll.policy.network import CredentialScope

_NOT_PROXIED = "localhost,127.0.0.1,::1"
_NO_SSH = "git over ssh does not leave the sandbox: use the https:// address of the repository"
# Folders in the private temporary folder; those of the second table only where packages can be fetched again, because
# what is in the user's own folders cannot be seen then.
_CACHES = {"XDG_CACHE_HOME": "cache", "NPM_CONFIG_CACHE": "cache/npm", "PIP_CACHE_DIR": "cache/pip",
           "UV_CACHE_DIR": "cache/uv", "YARN_CACHE_FOLDER": "cache/yarn", "GOCACHE": "cache/go-build"}  # fmt: skip
_FETCHED = {"CARGO_HOME": "cache/cargo", "GOMODCACHE": "cache/go-mod"}

_HTTPS = re.compile(r"(?P<before>(?:\w+\+)?)https://(?:[^/@]*@)?(?P<rest>.*)")
_GIVE_UP = {"NPM_CONFIG_FETCH_RETRIES": "0"}  # without a network npm would try for minutes, and say nothing


def cache_variables(temp: str, *, network: bool) -> dict[str, str]:
    """Where package managers keep what they have fetched and built."""
    kept = {**_CACHES, **(_FETCHED if network else {})}
    own = {"GOFLAGS": "-modcacherw"} if network else {"GOFLAGS": "-modcacherw", **_GIVE_UP}
    return {name: f"{temp}/{folder}" for name, folder in kept.items()} | own


def plain_address(text: str, has_route: Callable[[str], bool]) -> str:
    """An address as commands use it: without a login, and for a host with a credential by the proxy's plain route."""
    found = _HTTPS.fullmatch(text)
    if found is None:
        return text
    plain = f"{found['before']}https://{found['rest']}"
    return plain.replace("https:", "http:", 1) if has_route(f"https://{found['rest']}") else plain


def route_variables(
    registries: Mapping[str, str], has_route: Callable[[str], bool], scopes: Iterable[CredentialScope]
) -> dict[str, str]:
    """The variables that name the user's registries, and those by which programs use the plain routes to hosts."""
    found = {name: plain_address(url, has_route) for name, url in registries.items()}
    if any(url.startswith("http:") for url in found.values()):
        found["NPM_CONFIG_OMIT_LOCKFILE_REGISTRY_RESOLVED"] = "true"  # the route is no address for others
    if scopes := list(scopes):
        found["PIP_TRUSTED_HOST"] = " ".join(dict.fromkeys(one.host for one in scopes))
        places = dict.fromkeys(f"{one.host}{one.path}" for one in scopes)
        found["GIT_CONFIG_PARAMETERS"] = " ".join(f"'url.http://{one}.insteadof=https://{one}'" for one in places)
    return found


def proxy_variables(port: int, environ: Mapping[str, str]) -> dict[str, str]:
    """What makes programs use the proxy at this port. Node and Java take no notice of the usual names."""
    url = f"http://127.0.0.1:{port}"
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    java = [f"-D{scheme}.proxy{key}={value}" for scheme in ("http", "https")
            for key, value in (("Host", "127.0.0.1"), ("Port", port))]  # fmt: skip
    java.append("-Dhttp.nonProxyHosts=localhost|127.*|[::1]")
    return {
        **dict.fromkeys(names, url),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), _NOT_PROXIED),
        "NODE_USE_ENV_PROXY": "1",
        "JAVA_TOOL_OPTIONS": " ".join(filter(None, (environ.get("JAVA_TOOL_OPTIONS", ""), *java))),
        "GIT_SSH_COMMAND": f"sh -c 'echo \"{_NO_SSH}\" >&2; exit 1'",
    }
