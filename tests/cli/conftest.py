import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch, published_model):
    """The current folder, with a `text.txt` and a `model` in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("The cat sat .\nHello world !\nYes\n", encoding="utf-8")
    (tmp_path / "model").symlink_to(published_model("plain")[0].parent)
    return tmp_path
