"""The first root of a client that can be a workspace."""

from toolroll.mcp.roots import find_folder


def test_the_first_root_that_is_a_folder_here(tmp_path):
    folder = tmp_path / "a b%"
    folder.mkdir()
    file = tmp_path / "file"
    file.touch()
    wrong = ["https://x/y", "file://elsewhere/tmp", "file:///no/such", file.as_uri(), "nonsense", "file:///a%00b"]
    assert find_folder([*wrong, folder.as_uri(), tmp_path.as_uri()]) == str(folder)
    assert find_folder([f"file://localhost{tmp_path}"]) == str(tmp_path)
    assert find_folder(wrong) is None
