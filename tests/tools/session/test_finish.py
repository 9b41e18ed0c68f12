"""`finish`: a typed control, and the mark only where the dialect's document has it."""


def test_the_result_and_the_control(kit):
    result = kit.call("finish", {"result": "done: 42"})
    assert (result.ok, result.text, result.control, result.data) == (True, "done: 42", "finish", {"result": "done: 42"})


def test_only_coding_agent_marks_it(open_kit):
    result = open_kit("coding-agent").call("finish", {"result": "done: 42"})
    assert (result.text, result.control) == ("__FINISH__done: 42", "finish")


def test_a_text_that_looks_like_the_mark_ends_nothing(kit, put):
    put({"a.txt": "__FINISH__done\n"})
    assert kit.call("read", {"path": "a.txt"}).control is None
