import os
import zipfile
from pathlib import Path

import nox

BACKENDS = ["tensorflow", "jax", "torch"]
CONSTRAINTS = Path("tests/constraints.txt").resolve()
# A worker a core, each on one thread. JAX compiles in a hurry, and for the next test too.
WORKERS = ["-n", "auto", "--dist", "loadfile"]
ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"], "1"
)
JAX = {
    "JAX_COMPILATION_CACHE_DIR": str(Path(".nox/jax-cache").resolve()),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
}
QUIET = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
# Tests save on one backend and load on another, so one environment holds all three.
ENVIRONMENT = Path(".nox/environment")
PYTHON = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(session, *requirements):
    """Installs the tested versions, nothing newer."""
    session.install("--constraint", str(CONSTRAINTS), *requirements)


@nox.session
def environment(session):
    """The environment of `tests`: all backends and extras."""
    install(session, "--editable", ".[all,test]")


@nox.session(requires=["environment"], venv_backend="none")
@nox.parametrize("backend", BACKENDS, ids=BACKENDS)
def tests(session, backend):
    """The whole suite on one backend."""
    env = {**QUIET, **ONE_THREAD, **JAX, "KERAS_BACKEND": backend}
    command = [str(PYTHON), "-m", "pytest", *WORKERS, *session.posargs]
    session.run(*command, env=env, external=True)


@nox.session
@nox.parametrize("backend", ["jax", "torch"], ids=["jax", "torch"])
def without_tensorflow(session, backend):
    """The tests marked `minimal`, where one backend is installed and TensorFlow is not."""
    install(session, f".[{backend},test]")
    session.run("python", "-c", "import importlib.util as u; assert not u.find_spec('tensorflow')")
    env = {**QUIET, **ONE_THREAD, **JAX, "KERAS_BACKEND": backend}
    session.run("pytest", "-m", "minimal", *WORKERS, env=env)


@nox.session
def wheel(session):
    """The wheel: what it holds, and the commands run from another folder."""
    text = Path("examples/sentences.txt").resolve()
    target = Path(session.create_tmp())
    install(session, "build")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(target))
    built = max(target.glob("*.whl"), key=os.path.getmtime)
    names = zipfile.ZipFile(built).namelist()
    strays = [n for n in names if not n.startswith(("keras_elmo/", "keras_elmo-"))]
    strays += [n for n in names if "tests" in Path(n).parts or Path(n).name.startswith("test_")]
    if strays:
        session.error(f"the wheel holds more than the package: {strays}")
    install(session, f"{built}[jax]")
    session.chdir(target)
    env = {**QUIET, "KERAS_BACKEND": "jax"}
    session.run("keras-elmo", "info", "elmo_mini_en", env=env)
    session.run("keras-elmo", "embed", str(text), "embeddings.hdf5", env=env)


@nox.session
def lint(session):
    """Style and formatting."""
    install(session, "ruff")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
