import pytest

from keras_elmo.cli import main
from keras_elmo.errors import ElmoError
from tests.cli.commands import fails
from tests.cli.commands import run
from tests.cli.commands import start


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ElmoError("a\nb"), "keras-elmo: a b"),
        (OSError(28, "No space left", "x.h5"), "keras-elmo: x.h5: No space left"),
        (OSError(28, "No space left"), "keras-elmo: No space left"),
    ],
)
def test_errors_of_every_command(error, line, folder, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("keras_elmo.presets.load", fail)
    fails(line, "embed", "text.txt", "o.h5")


def test_help_names_every_command():
    text = run("--help").stdout
    assert set(main.commands) == {
        *("build-vocab", "convert", "embed", "evaluate", "export", "info", "pretrain", "score"),
        "similar",
    }
    assert [name for name in main.commands if name not in text] == []


def test_as_a_module():
    output, error = start("--version").communicate()
    assert output.startswith("keras-elmo, version"), error
