"""Latency, start-up, memory and size of every export format; a SavedModel under load.

python benchmarks/serving.py table mini small original
python benchmarks/serving.py load mini
"""

import argparse
import importlib.util
import json
import os
import random
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import random_model
import report

FORMATS = {
    "SavedModel": ("savedmodel", "1", {}),
    "SavedModel float16": ("savedmodel", "1", {"weights": "float16"}),
    "LiteRT float32": ("litert", "elmo.tflite", {"weights": "float32"}),
    "LiteRT int8": ("litert", "elmo.tflite", {"weights": "int8"}),
    "ONNX Runtime": ("onnx", "elmo.onnx", {}),
    "OpenVINO": ("openvino", "elmo.xml", {}),
}
WORDS = "The committee said on Monday that it had not yet decided whether to publish the report ."
WORDS = (WORDS + " They will meet again").split()[:20]
CALLS = 100


def export(size, folder):
    """Writes a random model of that size in every format that is not there yet."""
    import keras_elmo
    from keras_elmo.export import formats

    elmo = None
    for name, (form, file, options) in FORMATS.items():
        target = folder / size / name.replace(" ", "_") / file
        if not target.exists():
            if elmo is None:
                target.parents[1].mkdir(parents=True, exist_ok=True)
                random_model.write(target.parents[1], size)
                elmo = keras_elmo.load(target.parents[1])
            target.parent.mkdir(exist_ok=True)
            formats.export(elmo, target, form, **options)
        yield name, target


def open_file(form, path):
    """A function: words -> vectors, on one thread."""
    if form == "litert":
        return runner().LiteRTRunner(path)
    if form == "savedmodel":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        loaded = tf.saved_model.load(str(path))
        default = loaded.signatures["default"]
        return lambda words, loaded=loaded: default(tf.constant([" ".join(words)]))
    char_ids = runner().char_ids
    if form == "onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options)
        return lambda words: session.run(None, {"char_ids": char_ids(words)})
    import openvino

    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(str(path), "CPU", options)
    return lambda words: model(char_ids(words))


def runner():
    """The file litert_runner.py by itself: the package around it would count as memory."""
    path = Path(__file__).parents[1] / "keras_elmo" / "export" / "litert_runner.py"
    spec = importlib.util.spec_from_file_location("litert_runner", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(form, path):
    """Prints seconds to the first answer, milliseconds a call and megabytes, as JSON."""
    start = time.perf_counter()
    run = open_file(form, path)
    run(WORDS)
    first = time.perf_counter() - start
    calls = []
    for _ in range(CALLS):
        start = time.perf_counter()
        run(WORDS)
        calls.append(1000 * (time.perf_counter() - start))
    print(
        json.dumps(
            {
                "first": first,
                "median": float(np.median(calls)),
                "p99": float(np.percentile(calls, 99)),
                "memory": resident(),
            }
        )
    )


def resident():
    """Peak resident memory of this process in MB (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000


def megabytes(path):
    """Size of a file with what belongs to it, or of a folder."""
    files = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.stem}.*")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def table(sizes, folder, rounds):
    """One row a size and format, each measured in fresh processes in turn."""
    rows = []
    for size in sizes:
        paths = dict(export(size, folder))
        results = {name: [] for name in paths}
        for _ in range(rounds):
            for name, path in paths.items():
                script = (sys.executable, "serving.py", "measure", FORMATS[name][0], path)
                results[name].append(report.measure(*script))
        for name, path in paths.items():
            one = report.medians(results[name])
            numbers = [megabytes(path), one["median"], one["p99"], one["first"], one["memory"]]
            rows.append([size, name, *(f"{number:,.1f}" for number in numbers)])
    header = ["size", "format", "MB on disk", "ms, median", "ms, 99 %", "s to first", "MB resident"]
    print(report.conditions())
    print(report.table(header, rows))


def load(size, folder, requests, callers):
    """Requests of mixed length to one SavedModel from several threads."""
    import tensorflow as tf

    path = dict(export(size, folder))["SavedModel"]
    default = tf.saved_model.load(str(path)).signatures["default"]
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(0, 40))) for _ in range(requests)]
    memory = []

    def call(number):
        for i in range(number, requests, callers):
            default(tf.constant([texts[i]]))["elmo"].numpy()
            if i % (requests // 10) == 0:
                memory.append(resident())

    start = time.perf_counter()
    threads = [threading.Thread(target=call, args=(n,)) for n in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    tokens = sum(len(text.split()) for text in texts)
    print(report.conditions())
    print(
        f"{requests:,} requests from {callers} callers: {requests / seconds:,.0f} requests/s, "
        f"{tokens / seconds:,.0f} tokens/s; peak memory after each tenth: "
        + ", ".join(f"{mb:,.0f}" for mb in memory)
        + " MB"
    )


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "load", "measure"])
    parser.add_argument("arguments", nargs="+", help="sizes")
    parser.add_argument("--folder", type=Path, default=Path("serving_models"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--callers", type=int, default=8)
    given = parser.parse_args()
    if given.what == "measure":
        measure(*given.arguments)
    elif given.what == "table":
        table(given.arguments, given.folder, given.rounds)
    else:
        load(given.arguments[0], given.folder, given.requests, given.callers)
