"""Runs the benchmark scripts and keeps their tables in README.md."""

import json
import os
import platform
import re
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
BACKENDS = ["tensorflow", "jax", "torch"]


def measure(python, script, *arguments, backend=None):
    """The JSON that a benchmark script prints as its last line, run in a fresh process."""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if backend:
        env["KERAS_BACKEND"] = backend
    command = [str(python), str(FOLDER / script), *map(str, arguments)]
    print("$", f"KERAS_BACKEND={backend}" if backend else "", *command, flush=True)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{script} failed:\n{done.stderr[-2000:]}")
    print(done.stdout.splitlines()[-1], flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def medians(rounds):
    """The median of every number, from one dict a round."""
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def table(header, rows):
    """A Markdown table; numbers from the second column on are aligned right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def conditions():
    """One line on the machine and the versions."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())[1]
    packages = ["keras", "tensorflow", "jax", "torch", "numpy"]
    packages += ["ai-edge-litert", "onnxruntime", "openvino"]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{len(os.sched_getaffinity(0))} cores of {cpu}; Python {platform.python_version()}, "
        f"{versions}."
    )


def command():
    """The command that was given, to repeat it."""
    return f"python benchmarks/{Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}"


def write(section, header, rows, note):
    """The section: how to repeat it, on what it ran, the table."""
    write_section(section, f"    {command()}\n\n{note} {conditions()}\n\n{table(header, rows)}")


def write_section(name, text):
    """Puts the text between the two marks of that name in README.md."""
    pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)"
    page = README.read_text(encoding="utf-8")
    if not re.search(pattern, page, re.DOTALL):
        sys.exit(f"{README} has no section <!-- {name} -->")
    page = re.sub(pattern, lambda m: f"{m[1]}{text}{m[2]}", page, flags=re.DOTALL)
    README.write_text(page, encoding="utf-8")
