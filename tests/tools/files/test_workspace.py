"""Tell the folders of the workspace."""


def test_the_folders_are_told_by_their_whole_paths(kit, ws):
    assert kit.call("workspace", {}).data == {"folders": [str(ws)]}
