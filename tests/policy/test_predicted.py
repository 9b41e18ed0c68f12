"""What the words of a command tell of its effects."""

import pytest

from toolroll.policy.commands import judge
from toolroll.policy.predicted import predict

CASES = [
    ("rm -rf build *.o && make > out.txt 2>&1", "removes build, *.o; creates or overwrites out.txt"),
    ("cat a >> log; echo x >/dev/null", "appends to log"),
    ("wget -O f https://u:p@example.org:8443/x | tee -a z", "creates or overwrites f; appends to z; may reach example.org"),
    ("cd sub; mv a b", "removes sub/a; creates or overwrites sub/b"),
    ("cp -t into a b", "creates or overwrites into"),
    ("for one in a b; do rm $one; done", "removes $one"),
    ("bash -c 'rm y'", "removes y"),
    ("touch -r a b; mkdir -m 700 c; chmod +x run", "creates b, c; changes run"),
    ("sed -i s/a/b/ f; dd if=a of=b", "creates or overwrites b; changes f"),
    ("rm -- -f; git clean -fd; find old -delete", "removes -f, ., old"),
    ("git push git@github.com:a/b.git", "may reach github.com"),
    ("make; echo http://example.org/; find . -exec rm {} +", ""),
    (f"rm {' '.join('abcdefghijkl')}", "removes a, b, c, d, e, f, g, h, i, j and 2 more"),
    (f"unknown {'a' * 200_000} {'a.b-' * 5_000}://", ""),  # in a moment
]  # fmt: skip


@pytest.mark.parametrize(("command", "told"), CASES)
def test_what_a_command_says_that_it_does(command: str, told: str) -> None:
    assert "; ".join(predict(judge(command).parts)) == told
