"""Make a folder."""


def test_a_folder_is_made_once_and_taken_back(kit, ws):
    assert kit.call("make_folder", {"path": "a/b"}).text == "Made a/b."
    assert kit.call("make_folder", {"path": "a/b"}).text == "a/b is a folder already."
    assert kit.call("undo", {}).ok
    assert not (ws / "a/b").exists()


def test_a_folder_outside_is_refused(kit, ws):
    assert kit.call("make_folder", {"path": "../b"}).error.code == "SecurityError"
    assert not (ws.parent / "b").exists()
