"""Entity F1 of an exported tagger: FOLDER of the task model, TEST file."""

import json
import sys
import tempfile
from pathlib import Path

from keras_elmo import tasks
from keras_elmo.export import litert
from keras_elmo.export.litert_runner import LiteRTRunner
from keras_elmo.tasks import export


def main(folder, test):
    """Prints F1 and megabytes of the Keras model and of its LiteRT files as JSON."""
    tagger = tasks.load(folder)
    sentences, truths = tasks.read_conll(test)
    f1 = tagger.score(truths, tagger.predict(sentences))["f1"]
    weights = next(Path(folder).glob("*.weights.h5"))
    results = {"Keras": {"f1": f1, "megabytes": weights.stat().st_size / 1e6}}
    on_char_ids = export.on_char_ids(tagger)
    with tempfile.TemporaryDirectory() as temporary:
        for name in litert.WEIGHTS:
            path = Path(temporary, f"{name}.tflite")
            litert.save(on_char_ids, path, weights=name)
            run = LiteRTRunner(path)
            answers = [[tagger.labels[k] for k in run(words)["tags"]] for words in sentences]
            results[f"LiteRT, {name}"] = {
                "f1": tagger.score(truths, answers)["f1"],
                "megabytes": path.stat().st_size / 1e6,
            }
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
