import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import keras
import pytest

import keras_elmo

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_elmo"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# Who may import whom: a module imports only from its own line and from the lines above it.
ENCODERS = {"text.character_encoder", "text.vocabulary_encoder"}
ORDER = [
    {"default_backend", "errors", "files", "version", "text.characters", *ENCODERS},
    {"backend"},
    {"backpropagation"},
    {"recurrence"},
    {"layers", "optimizers"},
    {"models"},
    {"convert", "embedding", "export", "presets", "text", "training"},
    {"tasks"},
    {""},
    {"cli", "__main__"},
]
TENSORFLOW_BY_NATURE = (
    "export",
    "hub",
    "text.tokenizer",
    "tasks.graph_beam_search",
    "text.graph_encoder",
    "convert.tf_checkpoint",
)
ENGINES = ("backend.jax_devices", "backend.tensorflow_devices", "backend.torch_processes")
FRAMEWORKS = {"tensorflow", "tensorflow_text", "jax", "torch"}
FILES_AND_STRINGS = {"csv", "gzip", "h5py", "io", "json", "os", "pathlib", "re", "zipfile"}


def within(module, prefixes):
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def modules():
    """Name without the package, and path, of every module; "" is the package itself."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


@cache
def tree(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports(module):
    """Full dotted names of everything the module imports, at the top or inside functions."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative import in line {node.lineno}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(module):
    """The modules of the package that a module imports, "" for the package itself."""
    for name in imports(module):
        if name.split(".")[0] == "keras_elmo":
            name = name.removeprefix("keras_elmo").removeprefix(".")
            while name not in MODULES:
                name = name.rpartition(".")[0]
            yield name


def rank(module):
    named = [i for i, line in enumerate(ORDER) if module in line]
    return named[0] if named else rank(module.rpartition(".")[0])


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    assert {name for name in own_imports(module) if rank(name) > rank(module)} == set()


def test_no_module_imports_itself_in_a_circle():
    finished = set()

    def visit(module, path):
        assert module not in path, f"circular import: {[*path, module]}"
        if module not in finished:
            for name in own_imports(module):
                if name != module:
                    visit(name, [*path, module])
            finished.add(module)

    for module in MODULES:
        visit(module, [])


@pytest.mark.parametrize("module", MODULES)
def test_frameworks_are_imported_only_where_they_belong(module):
    if within(module, ["backend", *TENSORFLOW_BY_NATURE]):
        return
    assert {name for name in imports(module) if name.split(".")[0] in FRAMEWORKS} == set()


BACKEND_MODULES = ["backend", "default_backend"]  # the second speaks before Keras is imported


@pytest.mark.parametrize("module", [m for m in MODULES if not within(m, BACKEND_MODULES)])
def test_only_one_package_asks_which_backend_runs(module):
    if within(module, TENSORFLOW_BY_NATURE):
        return
    source = MODULES[module].read_text(encoding="utf-8")
    assert not re.search(r"keras\.backend\.backend|keras\.config\.backend|KERAS_BACKEND", source)


@pytest.mark.parametrize("module", [m for m in MODULES if within(m, ["layers"])])
def test_layers_know_nothing_of_files_or_strings(module):
    foreign = {name for name in imports(module) if name.split(".")[0] in FILES_AND_STRINGS}
    foreign |= {name for name in own_imports(module) if name.startswith("text.tokenizer")}
    assert foreign == set()
    opened = [n for n in ast.walk(tree(module)) if isinstance(n, ast.Name) and n.id == "open"]
    assert opened == []


@pytest.mark.parametrize("module", MODULES)
def test_modules_import_only_core_dependencies_at_the_top(module):
    core = {re.match(r"[\w-]+", line)[0] for line in PYPROJECT["project"]["dependencies"]}
    top = [n for n in tree(module).body if isinstance(n, ast.Import | ast.ImportFrom)]
    roots = {a.name.split(".")[0] for n in top if isinstance(n, ast.Import) for a in n.names}
    roots |= {n.module.split(".")[0] for n in top if isinstance(n, ast.ImportFrom)}
    roots -= {"keras_elmo", *sys.stdlib_module_names}
    owners = {name for root in roots for name in packages_distributions().get(root, [root])}
    assert owners <= core or within(module, [*TENSORFLOW_BY_NATURE, *ENGINES]), owners - core


@pytest.mark.parametrize("name", keras_elmo.__all__)
def test_public_names_are_documented(name):
    thing = getattr(keras_elmo, name)
    if isinstance(thing, str) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return
    text = inspect.getdoc(thing) or ""
    sections = ["Args:", "Example:"]
    if inspect.isclass(thing):
        sections.append("Reference:")
    if not inspect.isclass(thing) or issubclass(thing, keras.layers.Layer):
        sections.append("Returns:")
    assert [section for section in sections if f"\n{section}\n" not in text] == []


def test_exports_are_sorted_and_public():
    assert keras_elmo.__all__ == sorted(keras_elmo.__all__)
    for name in ["BiLM", "CharCNNEmbedding", "Elmo", "Embedder", "Highway", "ScalarMix", "load"]:
        assert name in keras_elmo.__all__


@pytest.mark.minimal
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_import_needs_no_tensorflow(backend):
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    code = (
        "import sys, keras_elmo, keras_elmo.cli\n"
        "print(sorted({'tensorflow', 'tensorflow_text', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "[]"


@pytest.mark.minimal
def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", keras_elmo.__version__)
    assert f"version: {keras_elmo.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_continuous_integration_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.strip() for line in readme.splitlines() if "nox" in line and "&&" in line]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert len(commands) == 1
    assert commands[0] in script.splitlines()


def test_extras_that_messages_name_exist():
    extras = PYPROJECT["project"]["optional-dependencies"]
    sources = "".join(path.read_text(encoding="utf-8") for path in MODULES.values())
    named = {
        name
        for found in re.findall(r"keras-elmo\[([\w,-]+)\]", sources)
        for name in found.split(",")
    }
    assert named
    assert named <= set(extras)
