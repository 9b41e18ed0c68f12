"""The ban lists: programs that are refused by their name, with examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolroll.policy.shell.destructive.checks import deletes_by_force, find_hosts, reaches_out
from toolroll.policy.shell.parse.words import SimpleCommand


@dataclass(frozen=True, slots=True)
class RefusedProgram:
    """Programs that are refused: always, or when `harms` says so of their words."""

    programs: tuple[str, ...]
    """Names without their folder; "mkfs.*" stands for any ending."""
    reason: str
    """What it does, as the end of a sentence; `{host}` is the first one that the command names."""
    harms: Callable[[SimpleCommand], bool] | None = None
    denies: tuple[str, ...] = ()
    """Examples that must be refused by this row alone."""
    passes: tuple[str, ...] = ()
    """Examples that this row must let by."""

    def explain(self, command: SimpleCommand) -> str:
        """The reason for this command."""
        return self.reason.replace("{host}", next(iter(find_hosts(command)), "")) if "{" in self.reason else self.reason


FETCH = "it reaches other machines; read web pages with `fetch`"
SETTING = f'{FETCH}. To let commands reach it, the user sets network = "{{host}}" in toolroll.toml, or --network'
BROWSE = "it opens a browser; read web pages with `fetch`"
RAISE = "it raises privileges; run the command without it"
INSTALL = "it changes the packages of the machine; ask the user to install what is missing"
MACHINE = "it changes the machine; leave that to the user"
NETWORK = "it changes the network of the machine; leave that to the user"


def _row(names: str, reason: str, denies: tuple[str, ...], passes: tuple[str, ...]) -> RefusedProgram:
    return RefusedProgram(tuple(names.split()), reason, None, denies, passes)


STANDARD: tuple[RefusedProgram, ...] = (
    _row("curl wget ssh scp nc telnet", FETCH,
        ("curl x", "/usr/bin/wget -q x", "env A=1 ssh host", "true && scp a h:b", "'n''c' x 1", "telnet x"),
        ("echo curl", "node curl.js", "./curl.sh", "which wget", "grep ssh a", "nc_test=1 ls")),
    _row("chrome google-chrome google-chrome-stable chromium chromium-browser firefox safari", BROWSE,
        ("firefox x", "chrome --headless"), ("ls firefox", "echo safari")),
    _row("sudo su doas", RAISE, ("sudo ls", "su -c ls", "doas x"), ("echo sudo", "sum a", "git log --author=su")),
    _row("apt apt-get yum dnf pacman brew", INSTALL, ("apt-get update", "brew install x", "apt install y"),
        ("make apt", "apt_list=1 ls", "pip install x")),
    _row("systemctl service mount umount fdisk mkfs mkfs.*", MACHINE,
        ("systemctl stop x", "mount /dev/sda1 /mnt", "mkfs.ext4 x", "service x stop"),
        ("npm run service", "echo mount", "ls mkfs.c", "python3 service.py")),
    _row("iptables ufw firewall-cmd ifconfig ip", NETWORK, ("ip link set eth0 down", "iptables -F", "ifconfig"),
        ("ls ip", "ipython --version", "pip list", "zip a b")),
)  # fmt: skip

NATIVE: tuple[RefusedProgram, ...] = (
    RefusedProgram(("curl", "wget"), SETTING, reaches_out,
        ("curl x", "curl https://example.org/", "wget -q https://example.org", "curl localhost.example.org"),
        ("curl localhost:3000", "curl -s http://127.0.0.1:8000/a", "curl --version", "curl \"$URL\"", "echo curl x")),
    _row("ssh scp nc telnet", FETCH, ("ssh host", "true && scp a h:b", "'n''c' x 1", "telnet x"),
        ("echo ssh", "grep ssh a", "nc_test=1 ls")),
    *STANDARD[1:],
)  # fmt: skip
"""The same, but for a client of the web that asks this machine."""

KOOPA: tuple[RefusedProgram, ...] = (
    RefusedProgram(("rm",), "it deletes folders without asking; delete single files by name", deletes_by_force,
        ("rm -rf build", "rm -fr a", "rm -r -f a", "rm --recursive --force a"),
        ("rm a", "rm -r a", "echo rm -rf x")),
    _row("dd format mkfs mkfs.*", MACHINE, ("dd if=a of=b", "format c:", "mkfs.ext4 x"), ("echo dd", "ls format")),
    _row("sudo su doas", RAISE, ("sudo ls", "su", "doas x"), ("echo sudo", "ls su")),
    _row("shutdown reboot halt poweroff", MACHINE, ("shutdown", "reboot", "halt", "poweroff"),
        ("echo reboot", "ls halt")),
)  # fmt: skip
