"""A client as they were written for TF-Hub's elmo/3: FOLDER OUTPUT. TensorFlow and NumPy alone."""

import sys

import numpy as np
import tensorflow as tf

STRINGS = ["the cat is on the mat", "dogs are in the fog"]
TOKENS = [["the", "cat", "is", "on", "the", "mat"], ["dogs", "are", "in", "the", "fog", ""]]
LENGTHS = [6, 5]


def eager(folder):
    """In the way of TensorFlow 2: `hub.load` is `tf.saved_model.load` of what it fetched."""
    elmo = tf.saved_model.load(folder)
    return {
        "default": elmo.signatures["default"](tf.constant(STRINGS)),
        "tokens": elmo.signatures["tokens"](
            tokens=tf.constant(TOKENS), sequence_len=tf.constant(LENGTHS)
        ),
    }


def in_session(folder):
    """In the way of TensorFlow 1: a graph, a session, and tensors by their names."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], folder)
        inputs = {
            "default": {"strings": STRINGS},
            "tokens": {"tokens": TOKENS, "sequence_len": LENGTHS},
        }
        answers = {}
        for name, values in inputs.items():
            signature = meta.signature_def[name]
            feed = {signature.inputs[key].name: value for key, value in values.items()}
            fetch = {key: tensor.name for key, tensor in signature.outputs.items()}
            answers[name] = session.run(fetch, feed)
        return answers


def main(folder, output):
    """Writes the answers of both as `eager/default/elmo` and so on."""
    found = {"eager": eager(folder), "in_session": in_session(folder)}
    arrays = {
        f"{way}/{signature}/{name}": np.asarray(value)
        for way, answers in found.items()
        for signature, answer in answers.items()
        for name, value in answer.items()
    }
    np.savez(output, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
