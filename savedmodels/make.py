"""Rebuilds the exported files in this folder from the bundled model, and their table in README.md.

KERAS_BACKEND=tensorflow python savedmodels/make.py
"""

import argparse
import hashlib
import re
import shutil
from pathlib import Path

import keras_elmo
from keras_elmo.export import litert
from keras_elmo.export import saved_model
from keras_elmo.presets import BUNDLED

FOLDER = Path(__file__).parent


def make(source=None, folder=FOLDER):
    """Writes `elmo_mini_en/1/` and `elmo_mini_en.tflite` anew."""
    elmo = keras_elmo.load(source)
    served, device = folder / BUNDLED, folder / f"{BUNDLED}.tflite"
    shutil.rmtree(served, ignore_errors=True)
    device.unlink(missing_ok=True)
    # The bundled weights are float16 themselves, so nothing is lost.
    saved_model.save(elmo, served / "1", weights="float16", warm_up=True)
    litert.save(elmo, device)


def table(folder=FOLDER):
    """Size and checksum of every file, as Markdown."""
    files = [*sorted((folder / BUNDLED).rglob("*")), folder / f"{BUNDLED}.tflite"]
    rows = ["| file | bytes | SHA-256 |", "| --- | ---: | --- |"]
    for path in filter(Path.is_file, files):
        contents = path.read_bytes()
        digest = hashlib.sha256(contents).hexdigest()
        rows.append(f"| {path.relative_to(folder)} | {len(contents):,} | `{digest}` |")
    return "\n".join(rows)


def write_table(readme):
    """Puts the table between the two marks in the README."""
    page = readme.read_text(encoding="utf-8")
    page = re.sub(
        r"(<!-- files -->\n).*?(\n<!-- end of files -->)",
        lambda marks: f"{marks[1]}{table(readme.parent)}{marks[2]}",
        page,
        flags=re.DOTALL,
    )
    readme.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="another model than the bundled one")
    make(parser.parse_args().model)
    write_table(FOLDER / "README.md")
