from toolroll.text.code.exports import find_exports

SOURCE = """\
__all__ = ["a", 'b',
    "c"]
x = ["a"]
__all__ += ("a",)
__all__: list[str] = ["ab"]
"""


def test_where_a_module_exports_a_name():
    found = {name: list(find_exports(SOURCE, name)) for name in ("a", "b", "c", "x")}
    assert found == {"a": [(1, 13), (4, 14)], "b": [(1, 18)], "c": [(2, 6)], "x": []}
