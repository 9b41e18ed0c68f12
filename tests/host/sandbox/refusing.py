"""A process in which the kernel refuses all that commands could be confined with, also to its children."""

REFUSING = """
import errno, struct
from toolroll.host.sandbox import seccomp
from toolroll.host.sandbox.syscalls import Kernel, machine
here = machine()
code = [(0x20, 0, 0, 0)]
for name in ("landlock_create_ruleset", "unshare", "clone"):
    block = [(6, 0, 0, 0x50000 | errno.EPERM)]
    if name == "clone":
        block = [(0x20, 0, 0, 16), (0x45, 0, 1, 0x10000000), *block, (6, 0, 0, 0x7FFF0000)]
    code += [(0x15, 0, len(block), here.numbers[name]), *block]
code.append((6, 0, 0, 0x7FFF0000))
kernel = Kernel(here.numbers)
kernel.no_new_privileges()
seccomp.install(kernel, b"".join(struct.pack("=HBBI", *one) for one in code))
"""
