"""The picture of a map."""

from xml.etree import ElementTree

import pytest

from toolroll.text.code.map.picture import PictureFile, draw

NAME = "{http://www.w3.org/2000/svg}"
FILES = [
    PictureFile("src/app/a.py", 30, 1.0, "Python"),
    PictureFile("src/app/b<&>.py", 10, 0.2, "Python"),
    PictureFile("src/web/c.ts", 20, 0.0, "TypeScript"),
    PictureFile("d.py", 5, 0.5, "Python"),
]


def test_files_are_tiles_within_their_folders_and_uses_are_curves():
    picture = ElementTree.fromstring(
        draw("shop", "4 files", FILES, {("d.py", "src/app/a.py"): 1.0, ("x", "d.py"): 1.0})
    )
    tiles = {one[0].text: one for one in picture.iter(f"{NAME}rect") if one.get("class") == "file"}
    assert set(tiles) == {one.path for one in FILES}
    area = {path: float(one.attrib["width"]) * float(one.attrib["height"]) for path, one in tiles.items()}
    assert area["src/app/a.py"] / area["src/app/b<&>.py"] == pytest.approx(3, rel=0.1)
    assert [one[0].text for one in picture.iter(f"{NAME}path")] == ["d.py uses src/app/a.py"]
    labels = [one.text for one in picture.iter(f"{NAME}text")]
    assert {"shop", "4 files", "Python", "TypeScript", "src", "app", "web", "a.py", "d.py"} <= set(labels)


@pytest.mark.parametrize("files", [[], FILES[:1], [PictureFile(f"a/{at}.py", 1, 0, "Python") for at in range(300)]])
def test_any_number_of_files_can_be_drawn(files):
    picture = ElementTree.fromstring(draw("x", "", files, {}))
    for one in picture.iter(f"{NAME}rect"):
        if one.get("class") == "file":
            right, bottom = float(one.attrib["x"]) + float(one.attrib["width"]), float(one.attrib["y"])
            assert 0 <= right <= 1400
            assert 0 <= bottom <= 900
