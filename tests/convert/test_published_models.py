import re
from pathlib import Path

import numpy as np
import pytest

import keras_elmo
import keras_elmo.info
from keras_elmo import presets
from keras_elmo.convert.published_models import MANY_LANGS
from keras_elmo.convert.published_models import PUBLISHED

pytestmark = pytest.mark.minimal

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


def test_what_is_known_of_each():
    assert len([name for name in PUBLISHED if name.startswith(MANY_LANGS)]) == 44
    for model in PUBLISHED.values():
        assert len(model.urls) in (1, 2)
        assert all(re.match(r"https?://.*\.(json|hdf5|zip)$", url) for url in model.urls)
        assert model.urls[0].endswith("zip" if len(model.urls) == 1 else "options.json")
        assert model.license


def test_the_page_lists_them():
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", FORMATS.read_text(encoding="utf-8"), re.M))
    assert rows.keys() >= {name for name in PUBLISHED if not name.startswith(MANY_LANGS)}
    for name, row in rows.items():
        model = PUBLISHED[name]
        cells = [cell.strip() for cell in row.split("|")]
        assert cells == [model.text, model.parameters, str(model.output_dim), model.license]


def test_opened_by_name(published_model, monkeypatch):
    pair = dict(zip(PUBLISHED["elmo_small_en"].urls, published_model("plain"), strict=True))
    monkeypatch.setattr(presets, "fetch", pair.get)
    found = keras_elmo.load("elmo_small_en").get_weights()
    expected = keras_elmo.load(published_model("plain")).get_weights()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert keras_elmo.info.describe("elmo_small_en")["license"].startswith("none; ")
