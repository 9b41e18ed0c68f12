"""Where paths lead, and what would be lost there."""

import pytest

from toolroll.policy.shell.parse.targets import Place, after, kind, normal, resolve
from toolroll.policy.shell.parse.tree import read


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *[
            ("/", Place.ROOT),
            ("//", Place.ROOT),
            ("/.", Place.ROOT),
            ("/usr/..", Place.ROOT),
            ("/*", Place.ROOT),
            ("/../..", Place.ROOT),
        ],
        *[
            ("~", Place.HOME),
            ("~/", Place.HOME),
            ("~/*", Place.HOME),
            ("~/..", Place.HOME),
            ("/home/bob", Place.HOME),
            ("/root", Place.SYSTEM),
        ],
        *[("..", Place.PARENT), ("../..", Place.PARENT), ("../*", Place.PARENT), ("a/../..", Place.PARENT)],
        *[
            ("/etc", Place.SYSTEM),
            ("/etc/x/y", Place.SYSTEM),
            ("/usr/bin/x", Place.SYSTEM),
            ("/var/lib", Place.SYSTEM),
            ("/e*", Place.SYSTEM),
        ],
        *[
            ("/tmp", Place.SYSTEM),
            ("/usr/local", Place.SYSTEM),
            ("/home", Place.SYSTEM),
            ("/opt/*", Place.SYSTEM),
            ("/Users", Place.SYSTEM),
        ],
        *[
            ("~/.ssh", Place.KEYS),
            ("~/.ssh/id", Place.KEYS),
            ("/home/bob/.aws/x", Place.KEYS),
            ("~/Documents", Place.KEYS),
        ],
        *[
            (".", Place.WORKSPACE),
            ("./", Place.WORKSPACE),
            ("*", Place.WORKSPACE),
            ("./*", Place.WORKSPACE),
            (".*", Place.WORKSPACE),
        ],
        *[
            (".git", Place.HISTORY),
            ("./.git/", Place.HISTORY),
            ("/dev/sda", Place.DEVICE),
            ("/dev/nvme0n1", Place.DEVICE),
        ],
        *[
            ("/dev/null", Place.NULL),
            ("/proc/sys/x", Place.KERNEL),
            ("/sys/x", Place.KERNEL),
            ("/dev/mapper/x", Place.DEVICE),
        ],
        *[
            ("build", None),
            ("build/*", None),
            ("../x", None),
            ("/tmp/x", None),
            ("/tmp/*", None),
            ("~/x", None),
            ("~/.cache", None),
        ],
        *[
            ("/usr/local/bin/x", None),
            ("/home/bob/ws/build", None),
            ("/data/x", None),
            (".gitignore", None),
            ("/dev/tty", None),
        ],
        *[
            ("/dev/stdout", None),
            ("/dev/shm/x", None),
            ("/var/tmp/x", None),
            ("/workspace", None),
            ("~/.config/x", None),
            ("..a", None),
        ],
    ],
)
def test_places(path, found):
    assert kind(normal(path)) is found


@pytest.mark.parametrize(
    ("where", "path", "found"),
    [
        (".", "a/../b", "b"),
        ("src", "..", "."),
        ("src", "../..", ".."),
        ("/x", "a", "/x/a"),
        (None, "a", None),
        (None, "/a", "/a"),
        ("~", "a", "~/a"),
    ],
)
def test_resolve(where, path, found):
    assert resolve(where, path) == found


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("cd src; ls", "src"),
        ("cd src && cd ..; ls", "."),
        ("cd /; ls", "/"),
        ("cd; ls", "~"),
        ("cd ~/x; ls", "~/x"),
        ('cd "$x"; ls', None),
        ("cd -; ls", None),
        ("cd a*; ls", None),
        ("(cd /); ls", "."),
        ("cd / | cat; ls", "."),
        ("x=$(cd /); ls", "."),
        ("a || cd /; ls", None),
        ("if a; then cd /; fi; ls", None),
        ("cd src || exit; ls", "src"),
        ("command cd -P /; ls", "/"),
        ("pushd /x; ls", "/x"),
        ("popd; ls", None),
        ("source a; ls", None),
        ("echo cd /; ls", "."),
    ],
)
def test_the_folder_is_followed(text, where):
    assert read(text).found[-1].item.where == where


def test_nothing_changes_the_folder_of_no_words():
    assert after("a", ()) == "a"
