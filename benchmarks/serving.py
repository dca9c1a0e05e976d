"""Measures exported models and writes their tables in benchmarks/README.md.

    python benchmarks/serving.py latency original
    python benchmarks/serving.py load
    python benchmarks/serving.py parity
    python benchmarks/serving.py quantized
    python benchmarks/serving.py tagger --data DATA

DATA is a folder with train.bio, dev.bio and test.bio. Random models and their exported files are
kept in --folder, for the next command.
"""

import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

import click
import exported
import numpy as np
import random_model
import report

SIZES = [exported.BUNDLED, *random_model.SIZES]
EXAMPLE = Path(__file__).parents[1] / "examples" / "ner.py"

folder_option = click.option(
    "--folder", type=Path, default=Path(tempfile.gettempdir(), "keras_elmo_serving")
)
rounds_option = click.option("--rounds", default=3, show_default=True)


@click.group()
def main():
    """Measure exported models, and write the tables of README.md."""


@main.command()
@click.argument("size", type=click.Choice(SIZES))
@folder_option
@rounds_option
@click.option("--calls", default=100, show_default=True)
def latency(size, folder, rounds, calls):
    """Size, start-up, latency and memory of every format, on one core."""
    paths = export(size, folder)
    results = {name: [] for name in paths}
    for _ in range(rounds):
        for name, path in paths.items():
            form = exported.FORMATS[name][0]
            script = [sys.executable, "serving_latency.py", form, path, calls]
            results[name].append(report.measure(*script))
    baseline = np.median(all_calls(results["LiteRT, float32"]))
    rows = [
        [
            name,
            f"{exported.megabytes(paths[name]):,.1f}",
            f"{np.median([one['first'] for one in found]):.1f}",
            f"{np.median(all_calls(found)):,.1f}",
            f"{np.percentile(all_calls(found), 99):,.1f}",
            f"{baseline / np.median(all_calls(found)):.1f}",
            f"{np.median([one['memory'] for one in found]):,.0f}",
        ]
        for name, found in results.items()
    ]
    header = ["", "MB on disk", "start-up (s)", "median (ms)", "99th percentile (ms)"]
    header += ["times LiteRT float32", "peak memory (MB)"]
    note = f"One sentence of 20 tokens, one core; {rounds} rounds of {calls} calls, all in turn."
    report.write(f"latency {size}", header, rows, note)


def all_calls(rounds):
    """The milliseconds of every call of all rounds."""
    return np.concatenate([one["calls"] for one in rounds])


@main.command()
@click.option("--size", default="mini", type=click.Choice(SIZES), show_default=True)
@folder_option
@click.option("--requests", default=10_000, show_default=True)
@click.option("--callers", default=8, show_default=True)
def load(size, folder, requests, callers):
    """Throughput and memory of a SavedModel under many requests."""
    path = export(size, folder)["SavedModel"]
    found = report.measure(sys.executable, "serving_load.py", path, requests, callers)
    memory = found["memory"]
    row = [
        size,
        f"{requests:,}",
        f"{found['requests_per_second']:,.0f}",
        f"{found['tokens_per_second']:,.0f}",
        *(f"{memory[k]:,.0f}" for k in (0, len(memory) // 2, -1)),
    ]
    header = ["", "requests", "requests/s", "tokens/s"]
    header += [f"MB after {share}" for share in ("a tenth", "half", "all")]
    note = f"{callers} callers in one process, a sentence of 0 to 40 tokens a request; no error."
    report.write("load", header, [row], note)


@main.command()
@click.argument("sizes", nargs=-1, type=click.Choice(SIZES))
@folder_option
def parity(sizes, folder):
    """What every format answers against the Keras model."""
    rows = []
    for size in sizes or (exported.BUNDLED, "small"):
        export(size, folder)
        script = [sys.executable, "serving_parity.py", size, folder]
        for name, found in report.measure(*script, backend="tensorflow").items():
            rows.append([f"{size}, {name}", *differences(found)])
    header = ["", "largest difference", *(f"mean cosine, layer {k}" for k in range(3))]
    note = "200 sentences of 1 to 40 words in 12 scripts; all layers."
    report.write("parity", header, rows, note)


@main.command()
@click.argument("sizes", nargs=-1, type=click.Choice(SIZES))
@folder_option
def quantized(sizes, folder):
    """`quantize("int8")` on every backend: size, and what it answers."""
    rows = []
    for size in sizes or (exported.BUNDLED, "small"):
        for backend in report.BACKENDS:
            script = [sys.executable, "quantization.py", size, folder]
            found = report.measure(*script, backend=backend)
            megabytes = [f"{found[key]:,.1f}" for key in ("full", "small")]
            rows.append([f"{size}, {backend}", *megabytes, *differences(found)])
    header = ["", "float32 (MB)", "int8 (MB)", "largest difference"]
    header += [f"mean cosine, layer {k}" for k in range(3)]
    note = "Weights of the saved model; 50 sentences of 1 to 40 words in 12 scripts."
    report.write("quantized", header, rows, note)


@main.command()
@click.option("--data", type=Path, required=True)
@click.option("--seeds", default=1, show_default=True)
def tagger(data, seeds):
    """Entity F1 of a tagger on the bundled model, and of its exported files."""
    with tempfile.TemporaryDirectory() as folder:
        parts = {f"--{part}": data / f"{part}.bio" for part in ("train", "dev", "test")}
        options = {**parts, "--output": folder, "--seeds": seeds}
        script = [sys.executable, EXAMPLE, "--alone", *chain.from_iterable(options.items())]
        subprocess.run([*map(str, script)], check=True)
        script = [sys.executable, "tagger.py", Path(folder, "frozen", "model"), data / "test.bio"]
        results = report.measure(*script, backend="tensorflow")
    rows = [[name, f"{x['megabytes']:.1f}", f"{x['f1']:.2f}"] for name, x in results.items()]
    note = f"The tagger of examples/ner.py, the bundled ELMo frozen, on {data.name}."
    report.write("tagger", ["", "MB", "entity F1 (test)"], rows, note)


def export(size, folder):
    """The files of every format, those that are not there yet written by a process of its own."""
    script = [sys.executable, "exported.py", size, folder]
    paths = report.measure(*script, backend="tensorflow")
    return {name: Path(path) for name, path in paths.items()}


def differences(found):
    """The cells for what `serving_parity.compare` found."""
    return [f"{found['difference']:.1e}", *(f"{x:.5f}" for x in found["cosines"])]


if __name__ == "__main__":
    main()
