"""The actor of the Ray engine, without Ray: programs with pipes, which outlive it to clean up."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.waiting import until
from toolroll.host.fleet import node_processes
from toolroll.host.fleet.node_processes import NodeProcesses

ECHO = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)\nsys.exit('bye')"


def test_input_and_output_of_a_program_come_and_go_as_bytes() -> None:
    node = NodeProcesses()
    number = node.start(ECHO)
    for line in (b"one\n", b"two\n"):
        node.send(number, line)
        assert node.read(number, 100) == line.upper()
    node.finish(number)
    assert node.read(number, 100) == b""
    node.send(number, b"nobody reads this\n")
    assert node.wait(number) == (1, "bye\n")


def test_a_program_can_be_stopped() -> None:
    node = NodeProcesses()
    number = node.start(ECHO)
    node.stop(number)
    assert node.wait(number)[0] != 0
    node.stop(number)  # has ended
    node.finish(number)


ACTOR = """
import os
from toolroll.host.fleet.node_processes import NodeProcesses
node = NodeProcesses()
number = node.start("import os, sys; os.write(1, b'1'); sys.stdin.read(); open(%r, 'w').close()")
node.read(number, 10)
node._all[number].process.kill()
os._exit(0)
"""


def test_a_program_cleans_up_when_ray_has_killed_the_actor_and_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "cleaned"
    subprocess.run([sys.executable, "-c", ACTOR % str(mark)], check=True)
    until(mark.exists)


def test_a_node_needs_no_package_for_it() -> None:
    tree = ast.parse(Path(str(node_processes.__file__)).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    assert imported <= sys.stdlib_module_names
