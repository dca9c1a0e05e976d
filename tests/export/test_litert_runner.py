import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keras_elmo
from keras_elmo.export import litert_runner


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(["<S>", "</S>"])), max_size=4))
def test_char_ids_are_those_of_the_package(words):
    np.testing.assert_array_equal(litert_runner.char_ids(words), keras_elmo.batch_to_ids([words]))


def test_short_words():
    words = ["a", "abcd", "中中"]
    np.testing.assert_array_equal(
        litert_runner.char_ids(words, 5), keras_elmo.batch_to_ids([words], 5)
    )


@pytest.mark.tensorflow
def test_the_file_alone_runs(tflite, tmp_path):
    pytest.importorskip("ai_edge_litert")
    copy = tmp_path / "litert_runner.py"
    copy.write_text(Path(litert_runner.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    code = (
        "import sys\n"
        "from litert_runner import LiteRTRunner\n"
        f"print(LiteRTRunner({str(tflite)!r})(['The', 'cat'])['elmo'].shape)\n"
        "print({'tensorflow', 'keras', 'keras_elmo', 'jax', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["(2, 16)", "set()"]


@pytest.mark.tensorflow
def test_one_string_is_refused(tflite):
    with pytest.raises(TypeError, match="split it"):
        litert_runner.LiteRTRunner(tflite)("The cat")
