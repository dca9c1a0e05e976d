"""Running the commands: in this process, or in one of their own."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from keras_elmo.cli import main

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments, status=0, **kwargs):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **kwargs)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def fails(message, *arguments, **kwargs):
    """Expects the one line that a failing command prints, with this message in it."""
    error = run(*arguments, status=2, **kwargs).stderr
    assert message in error
    assert error.startswith("keras-elmo: ")
    assert error.count("\n") == 1


def start(*arguments, **kwargs):
    """A process that runs a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "keras_elmo", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )
