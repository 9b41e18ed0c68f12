import pytest

from toolroll.text.file_mentions import find_mentions, is_test

# A path that is gone, the file that may name it, its text, and the lines that do, with "?" where it may be another.
CASES = [
    ("shop/query.py", "use.py", "from shop.query import find\nimport query_other\n", "1"),
    ("shop/query.py", "use.py", "from shop import (\n    other,\n    query,\n)\n", "1"),
    ("shop/query.py", "shop/b.py", "from . import query\nfrom .query import find\nx = query\n", "1 2"),
    ("src/shop/query.py", "tests/test_q.py", "import shop.query\n", "1"),
    ("shop/query.py", "x.py", "import query\n", "1?"),
    ("query.py", "x.py", "import query\n", "1"),
    ("shop/__init__.py", "x.py", "import shop\n", "1"),
    ("shop", "x.py", "from shop.query import f\n", "1"),
    ("shop/query.py", "README.md", "See shop/query.py.\nA query.\n`query.py` too\n", "1 3?"),
    (
        "web/a.ts",
        "web/b.ts",
        "import {a} from './a'\nimport {z} from '../web/a.js'\nimport y from './other/a'\n",
        "1 2",
    ),
    ("web/a/index.ts", "web/b.ts", "import {a} from './a'\n", "1"),
    ("lib/c.h", "src/c.c", '#include "c.h"\n#include "../lib/c.h"\n', "1? 2"),
    ("src/shop.rs", "src/main.rs", "mod shop;\nlet shop = 1;\n", "1"),
    ("a/Shop.java", "b/Use.java", "Shop shop = new Shop();\n", "1?"),
]


@pytest.mark.parametrize(("target", "path", "text", "lines"), CASES)
def test_what_names_a_path(target, path, text, lines):
    found = find_mentions(target, path, text)
    assert " ".join(f"{one.line}{'' if one.sure else '?'}" for one in found) == lines


def test_files_of_tests():
    yes = ["tests/a.py", "test_a.py", "a_test.go", "src/a.test.ts", "a.spec.js", "b/ATest.java", "spec/a_spec.rb"]
    assert [one for one in [*yes, "attest.py", "src/contest.py", "latest/a.py"] if is_test(one)] == yes
