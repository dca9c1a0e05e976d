import pytest

from keras_elmo.errors import ElmoError
from keras_elmo.files import check_space
from keras_elmo.files import replaced


def test_a_file(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    for text in ("first", "second"):
        with replaced(path) as temporary:
            assert not temporary.exists()
            temporary.write_text(text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_folder(tmp_path):
    path = tmp_path / "folder"
    for name in ("first", "second"):
        with replaced(str(path)) as temporary:
            temporary.mkdir()
            (temporary / name).write_text(name)
        assert [p.name for p in path.iterdir()] == [name]
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_one(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write():
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "kept").touch()

    def write():
        with replaced(path) as temporary:
            temporary.write_text("file")

    with pytest.raises(OSError):  # noqa: PT011
        write()
    assert [p.name for p in path.iterdir()] == ["kept"]
    assert list(tmp_path.iterdir()) == [path]


def test_no_space(tmp_path):
    path = tmp_path / "file.h5"
    check_space(path, needed=1)
    with pytest.raises(ElmoError, match=r"file.h5: no space left .* 9,000,000,.* start again"):
        check_space(path, needed=9 * 10**18)
