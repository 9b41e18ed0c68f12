"""A shell command that only applies a patch is the patch; any other is for the shell."""

import shlex

import pytest

from toolroll.text.patch.command import read_patch_command

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 'a'\n+x = \"$b\"\n*** Add File: n.txt\n+hi\n*** End Patch"
PLAIN = "*** Begin Patch\n*** Add File: n.txt\n+hi\n*** End Patch"


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<EOF\n{PATCH}\nEOF\n",
        f'applypatch <<-"PATCH"\n{PATCH}\nPATCH',
        f"cat <<'EOF' | apply_patch\n{PATCH}\nEOF",
        f"apply_patch \"$(cat <<'EOF'\n{PATCH}\nEOF\n)\"",
        f"cd . && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<'EOF'\n{PATCH}",  # a shell reads to the end as well
        shlex.join(["apply_patch", PATCH]),
        shlex.join(["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]),
    ],
)
def test_it_is_read(command):
    call = read_patch_command({"command": command}, "")
    assert (call.name, call.arguments["patch"].strip()) == ("patch", PATCH)


def test_its_names_are_in_the_folder_of_the_shell():
    call = read_patch_command({"command": f"cd 'my dir' && apply_patch <<'EOF'\n{PATCH}\nEOF"}, "/w/sub")
    assert call.arguments["patch"] == PATCH.replace("File: ", "File: /w/sub/my dir/")


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch --help",
        "apply_patch < fix.patch",
        "grep -r apply_patch .",
        f"cd $HOME && apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"ls; apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\nls",
        f"cat <<'EOF'\n{PATCH}\napply_patch\nEOF",
        f'apply_patch "{PLAIN}$x"',
        f"bash -c 'bash -c \"apply_patch {PLAIN}\"'",
        "apply_patch 'x",
    ],
)
def test_anything_else_is_for_the_shell(command):
    assert read_patch_command({"command": command}, "") is None


def test_a_held_command_and_one_in_words_are_for_the_shell():
    command = shlex.join(["apply_patch", PATCH])
    assert read_patch_command({"command": command, "hold": True}, "") is None
    assert read_patch_command({"command": "apply_patch", "args": [PATCH]}, "") is None


def test_a_large_one_is_read_in_time():
    line = "+" + "x" * 50 + "\n"
    command = f"apply_patch <<'EOF'\n{PLAIN.replace('+hi', line * 200_000)}\nEOF"
    assert read_patch_command({"command": command}, "sub") is not None
