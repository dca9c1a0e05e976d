"""A model in every format that `keras-elmo export` writes, and how each of them is run.

    KERAS_BACKEND=tensorflow python benchmarks/exported.py SIZE FOLDER

writes those that are not in the folder yet and prints their paths, as one line of JSON.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np

FORMATS = {  # name: format, file, options of the export
    "SavedModel": ("savedmodel", "1", {}),
    "SavedModel, float16": ("savedmodel", "1", {"weights": "float16"}),
    "LiteRT, float32": ("litert", "elmo.tflite", {"weights": "float32"}),
    "LiteRT, int8": ("litert", "elmo.tflite", {"weights": "int8"}),
    "ONNX Runtime": ("onnx", "elmo.onnx", {}),
    "OpenVINO": ("openvino", "elmo.xml", {}),
}
BUNDLED = "bundled"


def load(size, folder):
    """The bundled model, or a random one of a size in `random_model.SIZES`."""
    import keras_elmo

    if size == BUNDLED:
        return keras_elmo.load()
    import random_model

    folder = folder / size
    folder.mkdir(parents=True, exist_ok=True)
    random_model.write(folder, size)
    return keras_elmo.load(folder)


def export(size, folder):
    """Writes the model in every format that is not in the folder yet; the path of each."""
    from keras_elmo.embedding.files import fingerprint
    from keras_elmo.export import formats

    paths, elmo = {}, load(size, folder)
    place = folder / f"{size}-{fingerprint(elmo):08x}"  # never files of other weights
    for name, (form, file, options) in FORMATS.items():
        paths[name] = place / name.replace(", ", "_").replace(" ", "_") / file
        if not paths[name].exists():
            paths[name].parent.mkdir(parents=True, exist_ok=True)
            formats.export(elmo, paths[name], form, **options)
    return paths


def open_format(form, path):
    """A function from words to a dict of arrays; imports what it needs.

    It runs on one thread, TensorFlow on as many as the process had cores at its import.
    """
    return OPENERS[form](str(path))


def _saved_model(path):
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    default = loaded.signatures["default"]

    def run(words, loaded=loaded):
        return {k: x[0].numpy() for k, x in default(tf.constant([" ".join(words)])).items()}

    return run


def _litert(path):
    return runner().LiteRTRunner(path)


def _onnx(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names, char_ids = [output.name for output in session.get_outputs()], runner().char_ids

    def run(words):
        values = session.run(names, {"char_ids": char_ids(words)})
        return {name: value[0] for name, value in zip(names, values, strict=True)}

    return run


def _openvino(path):
    import openvino

    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(path, "CPU", options)
    char_ids = runner().char_ids

    def run(words):
        return {x.any_name: value[0] for x, value in model(char_ids(words)).items()}

    return run


OPENERS = {
    "savedmodel": _saved_model,
    "litert": _litert,
    "onnx": _onnx,
    "openvino": _openvino,
}


def layers(answer):
    """The layers (L + 1, words, 2P) in the answer of any format."""
    if "layers" in answer:
        return answer["layers"]
    words = np.tile(answer["word_emb"], 2)
    count = sum(name.startswith("lstm_outputs") for name in answer)
    return np.stack([words, *(answer[f"lstm_outputs{k}"] for k in range(1, count + 1))])


def runner():
    """The file litert_runner.py by itself: the package around it would count as memory."""
    path = Path(__file__).parents[1] / "keras_elmo" / "export" / "litert_runner.py"
    spec = importlib.util.spec_from_file_location("litert_runner", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def megabytes(path):
    """Size of a file with what belongs to it, or of a folder."""
    files = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.stem}.*")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def memory(field):
    """Megabytes of this process (Linux): `"VmRSS"`, what is resident, `"VmHWM"`, its peak.

    `getrusage` would count the process that started this one too.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1000


if __name__ == "__main__":
    paths = export(sys.argv[1], Path(sys.argv[2]))
    print(json.dumps({name: str(path) for name, path in paths.items()}))
