"""Where paths lead, and what would be lost there."""

import pytest

from toolroll.policy.shell.parse.targets import TargetKind, kind_of_path
from toolroll.policy.shell.parse.words import normalise_path


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
