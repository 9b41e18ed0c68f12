"""A workspace as a tar archive."""

import os
import shutil
import tarfile

import pytest

from tests.values import assert_values
from tests.waiting import closed_again, descriptors
from toolroll import Kit, ToolError
from toolroll.host.files.archive import pack as module
from toolroll.host.files.archive.pack import leads_out, pack
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.policy.decision import Rule
from toolroll.policy.rules import Policy


def names(packed):
    with packed as file, tarfile.open(fileobj=file) as tar:
        return tar.getnames()


@pytest.fixture(autouse=True)
def files(put, ws):
    put({"a.txt": "a", "d/run.sh": "#!", ".gitignore": "out/\n", "out/big": "x", ".git/HEAD": "ref", ".env": "K=1"})
    (ws / "d/run.sh").chmod(0o750)
    (ws / "d/link").symlink_to("../a.txt")
    (ws / "empty").mkdir()


def test_the_same_files_give_the_same_bytes(kit, ws, tmp_path):
    with kit.pack() as file:
        first = file.read()
    shutil.copytree(ws, tmp_path / "copy", symlinks=True)
    os.utime(tmp_path / "copy/a.txt", (1, 1))
    with Kit(tmp_path / "copy", state_dir=tmp_path / "other") as other, other.pack() as file:
        assert file.read() == first


def test_what_is_in_it(kit):
    plain = [".env", ".gitignore", "a.txt", "d", "empty", "d/link", "d/run.sh"]
    packed = kit.pack()
    assert (packed.entries, packed.left_out) == (7, [])
    assert names(packed) == plain
    assert set(names(kit.pack(ignored=True))) - set(plain) == {"out", "out/big"}
    assert set(names(kit.pack(git=True))) - set(plain) == {".git", ".git/HEAD"}


def test_what_is_left_out_is_named(open_kit, ws):
    (ws / "away").symlink_to("/etc/passwd")
    kit = open_kit(policy=Policy(rules=(Rule("deny", path=".env"),)))
    packed = kit.pack()
    assert packed.left_out == [".env", "away"]
    assert not {".env", "away"} & set(names(packed))


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("l", "a", False),
        ("l", "..", True),
        ("d/l", "..", False),
        ("d/l", "../a/b", False),
        ("d/l", "../../a", True),
        ("l", "/a", True),
        ("l", "", True),
        ("l", "a/../b", True),  # a may be a link
        ("l", "./..", True),
    ],
)
def test_links_that_lead_out(path, target, out):
    assert leads_out(path, target) is out


def test_the_headers_say_kind_and_permissions_and_nothing_of_the_owner(kit):
    with kit.pack() as file, tarfile.open(fileobj=file) as tar:
        found = {one.name: one for one in tar}
        script, link, folder = found["d/run.sh"], found["d/link"], found["empty"]
        assert (script.isreg(), script.mode, script.size, tar.extractfile(script).read()) == (True, 0o750, 2, b"#!")
        assert (link.issym(), link.mode, link.linkname) == (True, 0o777, "../a.txt")
        assert (folder.isdir(), folder.mode) == (True, 0o777 & ~umask())
        assert {(one.mtime, one.uid, one.gid, one.uname) for one in found.values()} == {(0, 0, 0, "")}
    assert file.closed


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_is_counted_with_the_repository(kit, ws):
    (ws / ".git/away").symlink_to("/etc")
    packed = kit.pack(git=True)
    assert (packed.entries, packed.left_out, len(names(packed))) == (9, [".git/away"], 9)
    shutil.rmtree(ws / ".git")
    packed = kit.pack(git=True)
    assert (packed.entries, len(names(packed))) == (7, 7)


def test_what_changes_meanwhile_is_left_out(kit, ws, monkeypatch):
    """Between the look at a name and its opening, one file becomes a pipe and one goes away."""
    for name in ("gone.txt", "pipe.txt"):
        (ws / name).touch()
    opened = module.WalkEntry.open

    def open_late(self):
        if self.path in ("gone.txt", "pipe.txt"):
            (ws / self.path).unlink()
        if self.path == "pipe.txt":
            os.mkfifo(ws / "pipe.txt")
        return opened(self)

    monkeypatch.setattr(module.WalkEntry, "open", open_late)
    packed = kit.pack()
    assert (packed.entries, packed.left_out) == (7, ["gone.txt", "pipe.txt"])
    assert len(names(packed)) == 7


def test_a_call_that_is_cancelled_leaves_no_file_open(kit):
    token, files = CancelToken(), kit.context().files
    token.cancel()
    before = descriptors()
    with pytest.raises(ToolError):
        pack(files, token, ignored=False, git=False)
    assert closed_again(before)


def test_values_stay_as_they_are():
    assert_values(module)
