"""Measures and writes the tables of benchmarks/README.md.

    python benchmarks/run.py embedding --size SIZE --corpus CORPUS --peer-python PEER/bin/python
    python benchmarks/run.py arithmetic
    python benchmarks/run.py memory --corpus CORPUS
    python benchmarks/run.py training --corpus CORPUS --peer-python PEER/bin/python
    python benchmarks/run.py training-memory --corpus CORPUS
    python benchmarks/run.py pipeline --corpus CORPUS

PEER is the environment that peer_simple_elmo.py describes. CORPUS is a folder with tokenized
text, a sentence a line: NAME.heldout.tok.txt.gz and NAME.train.tok.txt.gz for books and openstax.
"""

import gzip
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import click
import random_model
import report

SECTIONS = ["books", "openstax"]
VOCABULARY = 50_000


def write_sentences(target, corpus, split, count, every=1):
    """Writes the first `count` sentences, half of each section; of these each `every`-th."""
    with open(target, "w", encoding="utf-8") as file:
        for section in SECTIONS:
            with gzip.open(
                corpus / f"{section}.{split}.tok.txt.gz", "rt", encoding="utf-8"
            ) as text:
                file.writelines(islice(text, 0, count // len(SECTIONS), every))


def write_vocabulary(target, text, size=VOCABULARY):
    """Writes the words of the text by falling frequency, made-up words after them."""
    counts = Counter(Path(text).read_text(encoding="utf-8").split())
    words = ["<S>", "</S>", "<UNK>", *(word for word, _ in counts.most_common())][:size]
    words += [f"no-word-{i}" for i in range(size - len(words))]
    Path(target).write_text("\n".join(words) + "\n", encoding="utf-8")


def against_peer(ours, peer, rounds):
    """The medians of ours on each backend and of the peer, and the peer's tokens a second."""
    contenders = {backend: (ours, backend) for backend in report.BACKENDS}
    contenders["simple-elmo 0.9.2"] = (peer, None)
    results = in_turn(contenders, rounds)
    return results, results["simple-elmo 0.9.2"]["tokens_per_second"]


def in_turn(contenders, rounds):
    """Medians of each contender; in each round each one runs once, so that all share the weather.

    Args:
        contenders: from a name to the arguments of `report.measure`.
        rounds: how often each runs.
    """
    results = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (arguments, backend) in contenders.items():
            results[name].append(report.measure(*arguments, backend=backend))
    return {name: report.medians(rounds) for name, rounds in results.items()}


corpus_option = click.option("--corpus", type=Path, required=True)
peer_option = click.option("--peer-python", type=Path, required=True)
rounds_option = click.option("--rounds", default=3, show_default=True)


@click.group()
def main():
    """Measure, and write the tables of README.md."""


@main.command()
@corpus_option
@peer_option
@rounds_option
@click.option(
    "--size", default="small", show_default=True, type=click.Choice(["small", "original"])
)
@click.option("--sentences", default=4000, show_default=True)
def embedding(corpus, peer_python, rounds, size, sentences):
    """Tokens per second of `Embedder` and of simple-elmo."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "sentences.txt")
        random_model.write(folder, size)
        write_sentences(text, corpus, "heldout", sentences)
        ours = [sys.executable, "embedding.py", folder, text]
        peer = [peer_python, "peer_simple_elmo.py", folder, text]
        results, slowest = against_peer(ours, peer, rounds)
    rows = [
        [
            name,
            f"{result['tokens_per_second']:,.0f}",
            f"{result['tokens_per_second'] / slowest:.1f}",
            f"{result['warm_up_seconds']:.0f}",
            f"{result['peak_memory_mib']:,.0f}",
        ]
        for name, result in results.items()
    ]
    tokens = results["jax"]["tokens"]
    header = [size, "tokens/s", "times the peer", "warm-up (s)", "peak memory (MiB)"]
    note = (
        f"Medians of {rounds} rounds, all in turn. The first {sentences:,} held-out sentences, "
        f"half of each section: {tokens:,.0f} tokens."
    )
    report.write(f"embedding {size}", header, rows, note)


@main.command()
@rounds_option
def arithmetic(rounds):
    """Arithmetic rate of the LSTM part against the machine's matrix product."""
    rows = []
    for size in ["small", "original"]:
        script = [sys.executable, "arithmetic.py", size]
        results = in_turn({backend: (script, backend) for backend in report.BACKENDS}, rounds)
        machine = max(result["matmul_gflops"] for result in results.values())
        rows += [
            [
                f"{size}, {name}",
                f"{result['matmul_gflops']:.0f}",
                f"{result['step_matmul_gflops']:.0f}",
                f"{result['lstm_gflops']:.0f}",
                f"{result['lstm_gflops'] / machine:.0%}",
            ]
            for name, result in results.items()
        ]
    header = ["", "2048 x 2048", "loop's own product", "LSTM part", "of the best 2048 x 2048"]
    note = f"float32, GFLOP/s. Medians of {rounds} rounds, all in turn."
    report.write("arithmetic", header, rows, note)


@main.command()
@corpus_option
@click.option("--sentences", default=4000, show_default=True)
def memory(corpus, sentences):
    """Peak memory for an input and for ten times as much."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        random_model.write(folder, "small")
        once, tenfold = Path(folder, "1.txt"), Path(folder, "10.txt")
        write_sentences(once, corpus, "train", sentences)
        write_sentences(tenfold, corpus, "train", 10 * sentences)
        for backend in report.BACKENDS:
            peaks = [
                report.measure(sys.executable, "memory.py", folder, text, backend=backend)
                for text in [once, tenfold]
            ]
            low, high = (peak["peak_memory_mib"] for peak in peaks)
            rows.append([backend, f"{low:,.0f}", f"{high:,.0f}", f"{high / low - 1:+.1%}"])
    header = ["small", f"{sentences:,} sentences (MiB)", "ten times (MiB)", "growth"]
    report.write("memory", header, rows, "Peak resident memory of the process; training sentences.")


@main.command()
@corpus_option
@peer_option
@rounds_option
@click.option("--steps", default=20, show_default=True)
def training(corpus, peer_python, rounds, steps):
    """Tokens per second of pretraining and of simple-elmo's training code."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        texts = training_text(folder, corpus)
        for size in ["mini", "small"]:
            ours = [sys.executable, "training.py", size, *texts, steps]
            peer = [peer_python, "peer_training.py", size, *texts, steps]
            results, slowest = against_peer(ours, peer, rounds)
            rows += [
                [
                    f"{size}, {name}",
                    f"{result['tokens_per_second']:,.0f}",
                    f"{result['tokens_per_second'] / slowest:.1f}",
                ]
                for name, result in results.items()
            ]
    note = (
        f"The median of {steps} steps after warm-up, and of that in {rounds} rounds, all in turn; "
        "batch 128 x 20."
    )
    report.write("training", ["", "tokens/s", "times the peer"], rows, note)


@main.command("training-memory")
@corpus_option
@click.option("--early", default=200, show_default=True, help="Step.")
@click.option("--late", default=2000, show_default=True, help="Step.")
def training_memory(corpus, early, late):
    """Memory of a training run after its first steps and after many."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        script = ["training_memory.py", *training_text(folder, corpus), early, late]
        for backend in report.BACKENDS:
            found = report.measure(sys.executable, *script, backend=backend)
            before, after = found["early_mib"], found["late_mib"]
            rows.append([backend, f"{before:,.0f}", f"{after:,.0f}", f"{after / before - 1:+.1%}"])
    header = ["mini", f"step {early:,} (MiB)", f"step {late:,} (MiB)", "growth"]
    note = "Resident memory of the process, medians of 40 steps; batch 8 x 10, 1,024 samples."
    report.write("training-memory", header, rows, note)


@main.command()
@corpus_option
@rounds_option
@click.option("--steps", default=10, show_default=True, help="Of training; 20 times so many alone.")
def pipeline(corpus, rounds, steps):
    """Tokens per second of what prepares the batches, against what a mini model trains on."""
    with tempfile.TemporaryDirectory() as folder:
        texts = training_text(folder, corpus)
        alone = [sys.executable, "pipeline.py", *texts, 20 * steps]
        training = [sys.executable, "training.py", "mini", *texts, steps]
        contenders = {"batches alone": (alone, "jax")}
        contenders |= {f"mini, {backend}": (training, backend) for backend in report.BACKENDS}
        results = in_turn(contenders, rounds)
    speed = results["batches alone"]["tokens_per_second"]
    rows = [
        [name, f"{result['tokens_per_second']:,.0f}", f"{speed / result['tokens_per_second']:.0f}"]
        for name, result in results.items()
    ]
    note = f"Medians of {rounds} rounds, all in turn; batch 128 x 20, 8,192 samples."
    report.write("pipeline", ["", "tokens/s", "batches alone, times this"], rows, note)


def training_text(folder, corpus):
    """Writes sentences and a vocabulary into the folder and returns their paths."""
    text, vocabulary = Path(folder, "sentences.txt"), Path(folder, "vocabulary.txt")
    write_sentences(text, corpus, "train", 40_000)
    write_vocabulary(vocabulary, text)
    return text, vocabulary


if __name__ == "__main__":
    main()
