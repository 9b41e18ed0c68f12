"""Where paths lead, and what would be lost there."""

import pytest

from toolroll.policy.shell.parse.targets import TargetKind, kind_of_path, kind_of_word, takes_files
from toolroll.policy.shell.parse.words import normalise_path, plain, unknown


@pytest.mark.parametrize(
    ("where", "word", "kind", "shared"),
    [
        (".", plain("/tmp"), TargetKind.SYSTEM, True),
        ("/opt", plain("."), TargetKind.SYSTEM, True),
        ("/opt", plain("x"), None, False),
        (None, plain("/opt"), TargetKind.SYSTEM, True),
        (None, plain("opt"), None, False),
        (".", plain(""), None, False),
        ("a", plain(".."), TargetKind.WORKSPACE, False),
        ("~", plain("x/.."), TargetKind.HOME, False),
        (".", unknown("$x"), None, False),
    ],
)
def test_what_a_word_names_from_a_folder(where, word, kind, shared):
    assert (kind_of_word(where, word), takes_files(where, word)) == (kind, shared)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/root/x", None),
        ("/root/.ssh", TargetKind.KEYS),
        ("/root/.ssh/x", TargetKind.KEYS),
        ("/root/Documents/x", None),
        ("/private/etc", TargetKind.SYSTEM),
        ("/private/etc/x", TargetKind.SYSTEM),
        ("/private/var/x", TargetKind.SYSTEM),
        ("/private/tmp", None),
        ("/other/etc/x", None),
        ("/proc", TargetKind.SYSTEM),
        ("/proc/x", TargetKind.KERNEL),
        ("/sys/x/y", TargetKind.KERNEL),
    ],
)
def test_folders_of_the_system_by_other_names(path, found):
    assert kind_of_path(path) is found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *[
            ("/", TargetKind.ROOT),
            ("//", TargetKind.ROOT),
            ("/.", TargetKind.ROOT),
            ("/usr/..", TargetKind.ROOT),
            ("/*", TargetKind.ROOT),
            ("/../..", TargetKind.ROOT),
        ],
        *[
            ("~", TargetKind.HOME),
            ("~/", TargetKind.HOME),
            ("~/*", TargetKind.HOME),
            ("~/..", TargetKind.HOME),
            ("/home/bob", TargetKind.HOME),
            ("/root", TargetKind.SYSTEM),
        ],
        *[
            ("..", TargetKind.PARENT),
            ("../..", TargetKind.PARENT),
            ("../*", TargetKind.PARENT),
            ("a/../..", TargetKind.PARENT),
        ],
        *[
            ("/etc", TargetKind.SYSTEM),
            ("/etc/x/y", TargetKind.SYSTEM),
            ("/usr/bin/x", TargetKind.SYSTEM),
            ("/var/lib", TargetKind.SYSTEM),
            ("/e*", TargetKind.SYSTEM),
        ],
        *[
            ("/tmp", TargetKind.SYSTEM),
            ("/usr/local", TargetKind.SYSTEM),
            ("/home", TargetKind.SYSTEM),
            ("/opt/*", TargetKind.SYSTEM),
            ("/Users", TargetKind.SYSTEM),
        ],
        *[
            ("~/.ssh", TargetKind.KEYS),
            ("~/.ssh/id", TargetKind.KEYS),
            ("/home/bob/.aws/x", TargetKind.KEYS),
            ("~/Documents", TargetKind.KEYS),
        ],
        *[
            (".", TargetKind.WORKSPACE),
            ("./", TargetKind.WORKSPACE),
            ("*", TargetKind.WORKSPACE),
            ("./*", TargetKind.WORKSPACE),
            (".*", TargetKind.WORKSPACE),
        ],
        *[
            (".git", TargetKind.HISTORY),
            ("./.git/", TargetKind.HISTORY),
            ("/dev/sda", TargetKind.DEVICE),
            ("/dev/nvme0n1", TargetKind.DEVICE),
        ],
        *[
            ("/dev/null", TargetKind.NULL),
            ("/proc/sys/x", TargetKind.KERNEL),
            ("/sys/x", TargetKind.KERNEL),
            ("/dev/mapper/x", TargetKind.DEVICE),
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
    assert kind_of_path(normalise_path(path)) is found
