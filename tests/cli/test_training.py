import pytest

from tests.cli.commands import fails

TEXT = "the cat sat .\n" * 9


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("empty.txt: no sentence in it", ["--validation", "empty.txt"]),
        ("nothing.txt: no such file", ["--validation", "nothing.txt"]),
        ("words.txt: the marker <UNK> is missing", ["--vocabulary", "words.txt"]),
        ("nothing.txt: No such file", ["--vocabulary", "nothing.txt"]),
        ("unroll must be at least 1", ["--unroll", "0"]),
        ("validation_steps must be at least 1", ["--validation-steps", "0"]),
        ("take a smaller batch or more text", ["--batch-size", "999"]),
        ("--num-layers is that of the model", ["--init-from", "elmo", "--num-layers", "2"]),
    ],
)
def test_pretrain_refuses(message, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "words.txt").write_text("<S>\n</S>\nthe\n")
    fails(message, "pretrain", "text.txt", "--output", "model", *options)
    (tmp_path / "there").write_text("")
    fails("there: is there already", "pretrain", "text.txt", "--output", "there")
