"""Everything opened through a Root lies beneath it, by openat2 and by the portable walk alike."""

import os
import random
import socket
import stat
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import closed_again, descriptors
from toolroll.host.files.openat import walk
from toolroll.host.files.root import Root
from toolroll.host.files.trust import Trust
from toolroll.result import ErrorCode, ToolError

FUZZED = [4_000, pytest.param(100_000, marks=pytest.mark.slow)]


def has_openat2() -> bool:
    with Root("/") as root:
        return root.kernel


@pytest.fixture(params=["openat2", "walk"])
def kernel(request):
    if request.param == "openat2" and not has_openat2():
        pytest.skip("no openat2 here")
    return request.param == "openat2"


@pytest.fixture
def workspace(tmp_path):
    """A workspace, with a secret beside it that must never be seen or changed."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("SECRET")
    workspace = tmp_path / "ws"
    (workspace / "sub/deep").mkdir(parents=True)
    (workspace / "a.txt").write_text("hello")
    (workspace / "sub/b.txt").write_text("bee")
    return workspace


@pytest.fixture
def root(workspace, kernel):
    with Root(str(workspace), kernel=kernel) as root:
        yield root


def content(root: Root, path: str) -> str:
    with os.fdopen(root.file(path)) as file:
        return file.read()


def refusal(call, *args, **options) -> ErrorCode | type[OSError]:
    """How a call failed: the code of a ToolError, or the class of an OSError, which must know the path."""
    with pytest.raises((ToolError, OSError)) as caught:
        call(*args, **options)
    if isinstance(caught.value, ToolError):
        return caught.value.code
    assert caught.value.filename == args[0]
    return type(caught.value)


# Reading


@pytest.mark.parametrize(
    ("path", "expected", "real"),
    [
        ("a.txt", "hello", "a.txt"),
        ("sub//./b.txt", "bee", "sub/b.txt"),
        ("sub/deep/../../a.txt", "hello", "a.txt"),
        ("{WS}/a.txt", "hello", "a.txt"),
        ("{WS}/./sub/../a.txt", "hello", "a.txt"),
        ("inside", "hello", "a.txt"),
        ("chain", "hello", "a.txt"),
        ("sub/up", "hello", "a.txt"),
        ("folder/c.txt", "sea", "sub/deep/c.txt"),
        ("folder/../b.txt", "bee", "sub/b.txt"),  # physically: the parent of sub/deep is sub
    ],
)
def test_reads_inside(root, workspace, path, expected, real):
    (workspace / "sub/deep/c.txt").write_text("sea")
    (workspace / "inside").symlink_to("a.txt")
    (workspace / "chain").symlink_to("inside")
    (workspace / "sub/up").symlink_to("../a.txt")
    (workspace / "folder").symlink_to("sub/deep")
    before = descriptors()
    path = path.replace("{WS}", str(workspace))
    assert content(root, path) == expected
    fd, status, parts = root.located(path)
    with os.fdopen(fd) as file:
        assert (file.read(), status) == (expected, os.fstat(fd))
    assert "/".join(parts) == real
    assert closed_again(before)


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../outside/secret.txt", "sub/../../outside/secret.txt", "../ws/a.txt", "{WS}/../ws/a.txt"),
        *(
            "/etc/passwd",
            "{WS}-evil/x",
            "/proc/self/fd/0",
            "link",
            "chain",
            "folder/secret.txt",
            "proc/environ",
        ),
        *("device", "absolute-inside", "dangling", "link/", "a\0.txt"),
    ],
)
def test_refuses_what_is_outside(root, workspace, path):
    for name, target in {
        "link": "../outside/secret.txt",
        "chain": "link",
        "folder": "../outside",
        "proc": "/proc/self",
        "device": "/dev/zero",
        "absolute-inside": f"{workspace}/a.txt",
        "dangling": "../outside/created.txt",
    }.items():
        (workspace / name).symlink_to(target)
    before = descriptors()
    path = path.replace("{WS}", str(workspace))
    for call in (root.open, root.file, root.located, root.folder, root.place):
        assert refusal(call, path) is ErrorCode.SECURITY
    assert refusal(root.place, path, create=True) is ErrorCode.SECURITY
    assert closed_again(before)


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ("nosuch", FileNotFoundError),
        ("nosuch/../../outside/secret.txt", ErrorCode.SECURITY),
        ("a.txt/../../outside/secret.txt", ErrorCode.SECURITY),
        ("a.txt/", NotADirectoryError),
        ("a.txt/.", NotADirectoryError),
        ("a.txt/x", NotADirectoryError),
        ("sub", IsADirectoryError),
        (".", IsADirectoryError),
        ("loop", OSError),
        ("n" * 256, OSError),
        ("x/" * 2048, OSError),
        ("", ErrorCode.VALIDATION),
    ],
)
def test_other_failures_keep_the_path_that_was_given(root, workspace, path, failure):
    (workspace / "loop").symlink_to("loop")
    before = descriptors()
    assert refusal(root.file, path) is failure
    assert refusal(root.located, path) is failure
    assert closed_again(before)


def test_the_message_says_what_the_workspace_is(root, workspace):
    with pytest.raises(ToolError) as caught:
        root.file("../x")
    assert caught.value.message == (
        f"'../x' is outside the workspace {str(workspace)!r}. Use a path relative to the workspace."
    )


def test_special_files_are_refused_at_once(root, workspace, monkeypatch):
    os.mkfifo(workspace / "pipe")
    monkeypatch.chdir(workspace)  # the name of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        for name, kind in {"pipe": "FIFO", "sock": "socket"}.items():
            for call in (root.file, root.located):
                with pytest.raises(ToolError, match=f"'{name}' is a {kind}, not a file") as caught:
                    call(name)
                assert caught.value.code is ErrorCode.UNSUPPORTED


def test_a_huge_sparse_file_opens(root, workspace):
    with open(workspace / "sparse", "wb") as file:
        file.truncate(2**40)
    fd = root.file("sparse")
    assert os.fstat(fd).st_size == 2**40
    os.close(fd)


def test_opening_never_creates(root, workspace):
    with pytest.raises(ValueError, match="never creates"):
        root.open("new", os.O_WRONLY | os.O_CREAT)
    assert not (workspace / "new").exists()


def test_a_workspace_behind_a_link_has_both_names(workspace, kernel, tmp_path):
    (tmp_path / "alias").symlink_to(workspace)
    with Root(str(tmp_path / "alias"), kernel=kernel) as root:
        assert root.path == str(workspace)
        assert content(root, f"{tmp_path}/alias/a.txt") == content(root, f"{workspace}/a.txt") == "hello"
        assert root.text(f"{tmp_path}/alias/sub/b.txt") == root.text("sub//b.txt") == "sub/b.txt"


def test_the_names_of_a_workspace(workspace, kernel, tmp_path):
    (tmp_path / "link").symlink_to(workspace)
    with Root(f"{tmp_path}/link", kernel=kernel) as root:
        assert (root.name, root.path, root.folders) == ("link", str(workspace), (str(workspace),))
        assert root.owner(("sub", "b.txt")) == ("", root, ("sub", "b.txt"))
        assert root.absolute(("sub", "b.txt")) == f"{workspace}/sub/b.txt"
        named = (f"{tmp_path}/link/x", str(workspace), "/etc", f"{workspace}-evil")
        assert [root.names(path) for path in named] == [True, True, False, False]
        assert (root.kernel, root.opener is walk) == (kernel, not kernel)


def test_whether_there_is_anything_at_a_path(root, workspace):
    (workspace / "dangling").symlink_to("nosuch")
    found = [root.has(path) for path in ("a.txt", "sub", "dangling", "nosuch", "nosuch/x", "../outside")]
    assert found == [True, True, True, False, False, False]


def test_what_is_hidden_is_opened_by_no_path(workspace, kernel):
    (workspace / "way").symlink_to("sub")
    with Root(str(workspace), kernel=kernel, trust=lambda path: Trust(path, hide=[f"{path}/sub"])) as root:
        before = descriptors()
        assert content(root, "a.txt") == "hello"
        for path in ("sub/b.txt", "way/b.txt", "sub/new"):
            assert refusal(root.place, path) is ErrorCode.SECURITY
            assert refusal(root.folder, os.path.dirname(path)) is ErrorCode.SECURITY
        assert refusal(root.file, "way/b.txt") is ErrorCode.SECURITY
        os.close(root.folder())
        assert closed_again(before)


@pytest.mark.parametrize(("links", "found"), [(40, True), (41, False)])
def test_a_place_is_found_through_so_many_links(root, workspace, links, found):
    for number in range(links):
        (workspace / f"l{number}").symlink_to(f"l{number + 1}" if number + 1 < links else "a.txt")
    if found:
        with root.place("l0") as place:
            assert place.path == "a.txt"
    else:
        assert refusal(root.place, "l0") is OSError


def test_a_workspace_must_be_a_folder_and_is_closed_once(workspace):
    with pytest.raises(NotADirectoryError):
        Root(str(workspace / "a.txt"))
    before = descriptors()
    root = Root(str(workspace))
    root.close()
    root.close()
    assert closed_again(before)


# Places


@pytest.mark.parametrize(
    ("path", "follow", "real"),
    [
        ("a.txt", True, "a.txt"),
        ("new.txt", True, "new.txt"),
        ("sub/../new.txt", True, "new.txt"),
        ("folder/new.txt", True, "sub/deep/new.txt"),
        ("folder", False, "folder"),
        ("folder/", False, "folder"),
        ("folder", True, "sub/deep"),
        ("chain", True, "a.txt"),
        ("chain", False, "chain"),
        ("dangling", True, "sub/new.txt"),
        ("outside", False, "outside"),
        ("sub/deep/..", True, "sub"),
        ("folder/..", False, "sub"),
        ("sub/deep/.", True, "sub/deep"),
    ],
)
def test_a_place_is_a_real_folder_and_a_name(root, workspace, path, follow, real):
    for name, target in {
        "folder": "sub/deep",
        "chain": "sub/up",
        "sub/up": "../a.txt",
        "dangling": "sub/new.txt",
        "outside": "../outside",
    }.items():
        (workspace / name).symlink_to(target)
    before = descriptors()
    with root.place(path, follow=follow) as place:
        assert place.path == real
        assert place.name == os.path.basename(real)
        assert os.path.samestat(os.stat(place.fd), os.stat((workspace / real).parent))
    assert closed_again(before)


@pytest.mark.parametrize("path", [".", "{WS}", "{WS}/", "sub/..", "sub/deep/../..", "self", "self/."])
def test_the_workspace_itself_is_no_place(root, workspace, path):
    (workspace / "self").symlink_to(".")
    with pytest.raises(ToolError, match="is the workspace itself") as caught:
        root.place(path.replace("{WS}", str(workspace)))
    assert caught.value.code is ErrorCode.SECURITY


def test_missing_folders_are_made_only_when_asked(root, workspace):
    assert refusal(root.folder, "missing") is FileNotFoundError
    assert refusal(root.place, "x/y/new.txt") is FileNotFoundError
    before = descriptors()
    with root.place("x/y/new.txt", create=True) as place:
        assert place.parts == ("x", "y", "new.txt")
    os.close(root.folder("sub/more/yet", create=True))
    os.close(root.folder("sub/deep", create=True))
    assert (workspace / "x/y").is_dir()
    assert (workspace / "sub/more/yet").is_dir()
    assert closed_again(before)


@pytest.mark.parametrize(
    ("path", "failure"),
    [
        ("nosuch/../new.txt", FileNotFoundError),
        ("nosuch/x/../../new.txt", FileNotFoundError),
        ("nosuch/../../outside/new.txt", ErrorCode.SECURITY),
        ("nosuch/..", FileNotFoundError),
        ("a.txt/x/new.txt", NotADirectoryError),
        ("a.txt/", NotADirectoryError),
        ("dangling/x/new.txt", NotADirectoryError),
        ("outside/x/new.txt", ErrorCode.SECURITY),
        ("loop", OSError),
        ("loop/x", OSError),
        ("sub/" + "n" * 256, OSError),
    ],
)
def test_nothing_is_made_when_a_place_is_refused(root, workspace, path, failure):
    (workspace / "dangling").symlink_to("gone")
    (workspace / "outside").symlink_to("../outside")
    (workspace / "loop").symlink_to("loop")
    there, before = sorted(workspace.parent.rglob("*")), descriptors()
    assert refusal(root.place, path, create=True) is failure
    assert sorted(workspace.parent.rglob("*")) == there
    assert closed_again(before)


def test_the_real_components_are_checked_before_anything_is_made(root, workspace):
    def no_git(parts):
        seen.append((parts, (workspace / ".git/new").exists()))
        raise ToolError(ErrorCode.SECURITY, "protected")

    seen = []
    (workspace / ".git").mkdir()
    (workspace / "link").symlink_to(".git")
    assert refusal(root.place, "link/new/hook", create=True, check=no_git) is ErrorCode.SECURITY
    assert refusal(root.folder, "link/new", create=True, check=no_git) is ErrorCode.SECURITY
    assert seen == [((".git", "new", "hook"), False), ((".git", "new"), False)]


def test_folders_made_for_a_place_go_when_its_block_fails(root, workspace):
    before = descriptors()
    with suppress(RuntimeError), root.place("sub/x/y/new.txt", create=True):
        assert (workspace / "sub/x/y").is_dir()
        raise RuntimeError
    assert not (workspace / "sub/x").exists()
    assert (workspace / "sub").is_dir()
    assert closed_again(before)


# Where things really are


def test_the_real_place_of_a_folder(root, workspace):
    (workspace / "up").symlink_to("sub/deep")
    (workspace / "odd (deleted)").mkdir()
    before = descriptors()
    for path, expected in {
        ".": (),
        "up": ("sub", "deep"),
        "up/..": ("sub",),
        "odd (deleted)": ("odd (deleted)",),
    }.items():
        fd = root.folder(path)
        assert root.real(fd) == expected
        os.close(fd)
    assert closed_again(before)


def test_a_folder_that_is_gone_or_elsewhere_has_no_place(root, workspace, tmp_path):
    gone, moved = root.folder("sub/gone", create=True), root.folder("sub/moved", create=True)
    (workspace / "sub/gone").rmdir()
    (workspace / "sub/moved").rename(tmp_path / "moved")
    for fd in (gone, moved):
        with pytest.raises((ToolError, FileNotFoundError)):
            root.real(fd)
        os.close(fd)


def test_the_real_place_follows_a_moved_workspace_and_tells_a_replaced_file(root, workspace, tmp_path):
    os.link(workspace / "a.txt", tmp_path / "other name")
    fd = root.file("a.txt")
    workspace.rename(tmp_path / "moved")
    assert root.real(fd) == ("a.txt",)
    (tmp_path / "moved/a.txt").unlink()
    with pytest.raises(FileNotFoundError):
        root.real(fd)
    os.close(fd)


# The two ways of opening are equal

LINKS = {
    "in-file": "a.txt",
    "in-dir": "sub",
    "sub/up-file": "../a.txt",
    "sub/up": "..",
    "sub/deep/top": "../..",
    "self": ".",
    "chain1": "chain2",
    "chain2": "sub/chain3",
    "sub/chain3": "deep/c.txt",
    "slash": "sub/",
    "file-slash": "a.txt/",
    "loop": "loop",
    "loop1": "sub/loop2",
    "sub/loop2": "../loop1",
    "out-file": "../outside/secret.txt",
    "sub/out-dir": "../../outside",
    "sub/deep/out-late": "../../in-dir/../../outside",
    "abs-in": "{WS}/a.txt",
    "abs-out": "/etc",
    "proc": "/proc/self",
    "dangling": "sub/nosuch",
    "out-dangling": "../outside/nosuch",
    "long": "sub/deep/../" * 20 + "b.txt",
}
LADDER = 45  # rung N links to rung N-1: more links than the kernel follows
FLAGS = [
    os.O_RDONLY,
    os.O_RDONLY | os.O_DIRECTORY,
    os.O_RDONLY | os.O_NOFOLLOW,
    os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY,
    os.O_RDWR,
    os.O_PATH,
    os.O_PATH | os.O_NOFOLLOW,
    os.O_PATH | os.O_DIRECTORY,
]


@pytest.fixture
def maze(workspace):
    (workspace / "sub/deep/c.txt").write_text("sea")
    for name, target in LINKS.items():
        (workspace / name).symlink_to(target.replace("{WS}", str(workspace)))
    (workspace / "rung0").symlink_to("a.txt")
    for rung in range(1, LADDER):
        (workspace / f"rung{rung}").symlink_to(f"rung{rung - 1}")
    os.mkfifo(workspace / "pipe")
    (workspace / "locked").mkdir()
    (workspace / "locked").chmod(0o600)  # may be listed but not passed, except by root
    return workspace


def random_paths(rng: random.Random, workspace: Path, count: int):
    """Mostly through folders and links to folders, else few paths would get past their first component."""
    names = [path.name for path in workspace.rglob("*") if not path.name.startswith("rung")]
    # No rung just below the limit: when the kernel starts a look-up over, it goes on counting where it was.
    names += ["nosuch", "n" * 256, "rung18", "rung40", "rung44"]
    folders = ["sub", "sub", "deep", "in-dir", "self", "slash", "top", "up", "..", ".", "", "locked"]
    for _ in range(count):
        above = [rng.choice(folders if rng.random() < 0.9 else names) for _ in range(rng.randint(0, 5))]
        last = rng.choice(folders if rng.random() < 0.3 else names)
        path = "/".join([*above, last]) + rng.choice(["", "", "", "", "/", "/."])
        yield f"{workspace}/{path}" if rng.random() < 0.1 else path.lstrip("/") or "."


def outcome(call, *args) -> tuple:
    """What came of a call, in a form that can be compared: what was found, or how it failed."""
    try:
        return ("found", call(*args))
    except ToolError as error:
        return ("refused", error.code)
    except OSError as error:
        return ("failed", error.errno)


def opened(root: Root, path: str, flags: int) -> tuple[int, int]:
    fd = root.open(path, flags)
    try:
        found = os.fstat(fd)
        return found.st_dev, found.st_ino
    finally:
        os.close(fd)


def placed(root: Root, path: str, follow: bool) -> tuple:
    with root.place(path, follow=follow) as place:
        folder = os.fstat(place.fd)
        return (folder.st_dev, folder.st_ino), place.parts, place.is_dir


def located(root: Root, path: str) -> tuple:
    fd, status, parts = root.located(path)
    os.close(fd)
    return (status.st_dev, status.st_ino), parts


@pytest.mark.parametrize("opens", FUZZED)
@pytest.mark.skipif(not has_openat2(), reason="no openat2 here")
def test_openat2_and_the_walk_agree_on_random_paths(maze, opens):
    beneath = {(found.st_dev, found.st_ino) for found in map(os.lstat, [maze, *maze.rglob("*")])}
    rng = random.Random(20_240_229)
    kinds: Counter[str] = Counter()
    with Root(str(maze), kernel=True) as fast, Root(str(maze), kernel=False) as walk:
        before = descriptors()
        for path in random_paths(rng, maze, opens):
            flags = rng.choice(FLAGS)
            first = outcome(opened, fast, path, flags)
            assert outcome(opened, walk, path, flags) == first, (path, flags)
            assert first[0] != "found" or first[1] in beneath, path
            kinds[first[0]] += 1
        for path in random_paths(rng, maze, opens // 5):
            follow = rng.random() < 0.7
            first = outcome(placed, fast, path, follow)
            assert outcome(placed, walk, path, follow) == first, (path, follow)
            assert first[0] != "found" or first[1][0] in beneath, path
            first = outcome(located, fast, path)
            assert outcome(located, walk, path) == first, path
            assert first[0] != "found" or first[1][0] in beneath, path
        assert closed_again(before)
    # Without enough of each kind the agreement would mean little.
    assert min(kinds[kind] for kind in ("found", "refused", "failed")) > opens / 20, kinds


def test_the_fuzzed_maze_is_left_as_it_was(maze, kernel):
    def state():
        return [(path, stat.S_IFMT(path.lstat().st_mode)) for path in sorted(maze.parent.rglob("*"))]

    before = state()
    with Root(str(maze), kernel=kernel) as root:
        for path in random_paths(random.Random(7), maze, 1_000):
            outcome(opened, root, path, os.O_RDWR)
    assert state() == before


def test_where_the_kernel_has_no_openat2_it_cannot_be_asked_for(workspace, monkeypatch):
    monkeypatch.setattr("toolroll.host.files.root.openat2", lambda _fd: None)
    before = descriptors()
    with pytest.raises(OSError, match="openat2 is not to be had here"):
        Root(str(workspace), kernel=True)
    assert closed_again(before)
    for kernel in (None, False):
        with Root(str(workspace), kernel=kernel) as root:
            assert (root.kernel, content(root, "a.txt")) == (False, "hello")


def test_a_listed_path_is_taken_as_it_is(root, workspace):
    (workspace / "link").symlink_to("sub")
    with root.place_listed("sub/b.txt") as place:
        assert (place.parts, place.name) == (("sub", "b.txt"), "b.txt")
    with root.place_listed("link") as place:
        assert (place.parts, place.link()) == (("link",), "sub"), "the link itself"
    with pytest.raises(FileNotFoundError):
        root.place_listed("new/c.txt")
    with root.place_listed("new/c.txt", create=True) as place:
        assert (workspace / "new").is_dir()
