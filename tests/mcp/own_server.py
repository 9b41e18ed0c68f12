"""A server with tools of its own, for what no built-in tool does on purpose. Run as a program."""

import subprocess
import sys
import time
from dataclasses import dataclass

from toolroll import Context, Effect, Image, Kit, tool
from toolroll.mcp import stdio
from toolroll.mcp.kit_backend import KitBackend


@tool
def babble() -> str:
    """Write to what others take for standard output, and read what they take for standard input."""
    print("a stray line")
    sys.stdout.flush()
    subprocess.run(["echo", "another stray line"], check=True)
    heard = subprocess.run(["head", "-c", "1"], check=True, stdout=subprocess.PIPE, timeout=20).stdout
    return f"said; heard {heard!r}"


@tool(Effect.READ)
def slow(ctx: Context, seconds: float = 30) -> str:
    """Take long without a word of it in the definition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ctx.token.check()
        time.sleep(0.005)
    return "done"


@tool(Effect.READ)
def count(ctx: Context, to: int = 5) -> str:
    """Count, and tell how far it is."""
    for number in range(1, to + 1):
        ctx.progress(number, to, f"step {number}")
        time.sleep(0.06)
    return "counted"


@tool(Effect.READ)
def broken() -> str:
    """Fail in a way that nobody foresaw."""
    raise ZeroDivisionError("by nothing")


@tool(Effect.READ)
def odd() -> str:
    """Give what is not Unicode."""
    return "odd \udcff"


@dataclass
class Param:
    """An output with a picture."""

    images: tuple[Image, ...] = (Image(b"\x89PNG", "image/png"),)

    def __str__(self) -> str:
        return "a picture"


@tool(Effect.READ)
def picture() -> Param:
    """Show a picture."""
    return Param()


@tool(Effect.READ)
def talk() -> str:
    """Say more than is shown."""
    return "\n".join(f"word {number}" for number in range(20_000))


def main() -> int:
    kits = []

    def open_kit(folder, approve):
        kit = Kit(folder or ".", approve=approve, tools="all")
        for one in (babble, slow, count, broken, odd, picture, talk):
            kit.register(one)

        @tool
        def more() -> str:
            """Bring another tool."""

            @tool
            def late() -> str:
                """Come late."""
                return "here"

            kit.register(late)
            return "brought"

        kit.register(more)
        kits.append(kit)
        return kit

    return stdio.serve(KitBackend(open_kit))


if __name__ == "__main__":
    sys.exit(main())
