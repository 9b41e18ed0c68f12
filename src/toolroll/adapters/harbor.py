"""harbor: `harbor run --environment-import-path toolroll.adapters.harbor:HarborEnvironment ...`.

Every trial has a sandbox of its own on this machine: no image is built or fetched, the programs are those of this
machine. Commands have the paths of harbor: the workspace is at the task's working directory, and `/tests`, `/logs`,
`/solution`, `/harbor`, `/installed-agent` and those named by `folders` are empty folders that end with the trial.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from toolroll.host.requirement import require

require("harbor", "harbor>=0.24,<0.25")

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.tar_transfer import extract_dir_from_bytes, pack_dir_to_bytes

from toolroll.adapters.kit_sandbox import READ_BYTES, EndedProgram, KitSandbox
from toolroll.host.runtime.event_loop import run_in_thread
from toolroll.policy.rules import Policy

_FOLDERS = ("/tests", "/logs", "/solution", "/harbor", "/installed-agent")
_WORKDIR = "/app"
_INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_BUILT = ("RUN", "COPY", "ADD")


class HarborEnvironment(BaseEnvironment):
    """The environment of one trial. Its options are harbor's `environment.kwargs` (`--ek NAME=VALUE`)."""

    def __init__(
        self,
        environment_dir: Path,
        *given: Any,
        base: str | None = None,
        folders: Sequence[str] | str = (),
        **options: Any,
    ) -> None:
        """`base` is a folder with what the image has at its working directory; each trial has a fork of it.

        A relative one is taken from the task's `environment` folder, so that "." does what `COPY . .` would.
        """
        self._base = None if base is None else os.path.join(environment_dir, base)
        self._folders = folders.split(",") if isinstance(folders, str) else list(folders)
        self._box: KitSandbox | None = None
        super().__init__(environment_dir, *given, **options)

    @staticmethod
    def type() -> str:
        return "toolroll"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        kinds = ("hostnames", "wildcard_hostnames", "ipv4_addresses")
        return EnvironmentCapabilities(
            disable_internet=True, network_allowlist=True, **{f"network_allowlist_{kind}": True for kind in kinds}
        )

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities()  # none: no limit of a task is enforced

    @property
    def box(self) -> KitSandbox:
        """The sandbox; RuntimeError before `start` and after `stop`."""
        if self._box is None:
            raise RuntimeError("The environment is not open: start it first.")
        return self._box

    def _validate_definition(self) -> None:
        """Refuse what only an image has, unless a base stands for it."""
        said = self._instructions()
        self._workdir = self.task_env_config.workdir or next(
            (to for how, to in said[::-1] if how == "WORKDIR"), _WORKDIR
        )
        if (self.environment_dir / "docker-compose.yaml").exists():
            raise ValueError("toolroll runs no docker-compose.yaml: a task has one sandbox on this machine.")
        mounted = [one for one in self._mount_targets() if not one.startswith("/logs/")]
        if mounted:
            raise ValueError(
                f"toolroll mounts no folders of this machine, so there is nothing at {', '.join(mounted)}."
            )
        built = sorted({how for how, _ in said} & set(_BUILT))
        if built and self._base is None:
            raise ValueError(
                f"toolroll builds no image, and this Dockerfile has {', '.join(built)}. Name a folder with what the "
                f"image has at {self._workdir}: --ek base=FOLDER (--ek base=. is the task's environment folder)."
            )

    def _instructions(self) -> list[tuple[str, str]]:
        file = self.environment_dir / "Dockerfile"
        text = file.read_text(errors="replace").replace("\\\n", " ") if file.exists() else ""
        return [(how.upper(), rest) for how, rest in _INSTRUCTION.findall(text)]

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 - nothing is built
        mode, hosts = self.network_policy.network_mode, self.network_policy.allowed_hosts
        policy = Policy(protected=(), allow_destructive=True, network=",".join(hosts) or mode == "public")
        given: dict[str, Any] = {"at": self._workdir, "folders": [*_FOLDERS, *self._folders], "policy": policy}
        self._box = await run_in_thread(partial(KitSandbox, self._base, fork=self._base is not None, **given))
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:  # noqa: ARG002 - nothing is left in any case
        if self._box is not None:
            await run_in_thread(self._box.close)
            self._box = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        who = self._resolve_user(user)
        if who not in (None, "root", 0, "0"):
            raise ValueError(f"Commands run as the user of this process, not as {who!r}.")
        try:
            done = await self._run(command, cwd=cwd or self._workdir, env=self._merge_env(env), timeout=timeout_sec)
        except TimeoutError:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from None
        except PermissionError as error:  # the policy refuses it
            return ExecResult(stdout="", stderr=f"{error.strerror}\n", return_code=126)
        stdout, stderr = (one.decode(errors="replace") for one in (done.stdout, done.stderr))
        return ExecResult(stdout=stdout, stderr=stderr, return_code=done.code)

    async def _run(self, command: str, **options: Any) -> EndedProgram:
        return await self.box.arun(command, **options)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        source = Path(source_path)
        await run_in_thread(partial(self.box.write, target_path, source.read_bytes()))
        if os.access(source, os.X_OK):
            await self._run(f"chmod +x -- {shlex.quote(target_path)}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        packed: io.BytesIO = await run_in_thread(partial(pack_dir_to_bytes, source_dir))
        to = shlex.quote(target_dir)
        await self._transfer(f"mkdir -p -- {to} && tar -x --no-same-owner -C {to}", target_dir, stdin=packed.getvalue())

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(await run_in_thread(partial(self.box.read, source_path)))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        done = await self._transfer(f"tar -c -C {shlex.quote(source_dir)} .", source_dir, limit=READ_BYTES)
        await run_in_thread(partial(extract_dir_from_bytes, done.stdout, target_dir))

    async def _transfer(self, command: str, path: str, **options: Any) -> EndedProgram:
        done = await self._run(command, **options)
        if done.code != 0 or done.truncated:
            why = f"more than {READ_BYTES} bytes" if done.truncated else done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"{path!r} was not transferred: {why}")
        return done
