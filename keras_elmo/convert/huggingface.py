"""Folders on the Hugging Face Hub; needs `pip install "keras-elmo[huggingface]"`."""

import contextlib
import os
import tempfile
from pathlib import Path

from keras_elmo.convert import folder
from keras_elmo.convert.download import OFFLINE
from keras_elmo.errors import ElmoError

PREFIX = "hf://"
CARD = """---
library_name: keras
tags:
- elmo
- keras_elmo
---
# {name}

An ELMo model with {parameters:,} parameters, for
keras_elmo (`pip install keras-elmo`).

```python
import keras_elmo

elmo = keras_elmo.load("{prefix}{name}")
```
"""


def fetch(name):
    """Downloads a repository of the hub, or finds it in the hub's cache.

    Args:
        name: `hf://user/model`, or `hf://user/model@revision`.

    Returns:
        The `Path` of the folder.

    Raises:
        ElmoError: if it cannot be had, or huggingface_hub is not installed.

    Example:
        >>> path = fetch("hf://user/model")
    """
    repository, _, revision = name.removeprefix(PREFIX).partition("@")
    library = _library(name)
    with _one_line(name):
        path = library.snapshot_download(
            repository,
            revision=revision or None,
            endpoint=_endpoint(),
            local_files_only=bool(os.environ.get(OFFLINE)),
        )
    return Path(path)


def push(elmo, name, private=False):
    """Uploads a model as a folder, with a model card.

    Args:
        elmo: an `Elmo`.
        name: `hf://user/model`; the repository is made if it is not there.
        private: bool, whether a new repository is private.

    Raises:
        ElmoError: if the hub refuses, or huggingface_hub is not installed.

    Example:
        >>> push(keras_elmo.load("my_elmo"), "hf://user/my_elmo")
    """
    repository = name.removeprefix(PREFIX)
    api = _library(name).HfApi(endpoint=_endpoint())
    card = CARD.format(name=repository, prefix=PREFIX, parameters=elmo.count_params())
    with tempfile.TemporaryDirectory() as temporary, _one_line(name):
        folder.write(elmo, temporary)
        (Path(temporary) / "README.md").write_text(card, encoding="utf-8")
        api.create_repo(repository, private=private, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=temporary)


@contextlib.contextmanager
def _one_line(name):
    """Turns the many errors of the library into one line."""
    try:
        yield
    except ElmoError:
        raise
    except Exception as error:
        line = " ".join(str(error).split()) or type(error).__name__
        raise ElmoError(f"{name}: the hub does not answer as it should ({line:.200})") from None


def _endpoint():
    return os.environ.get("HF_ENDPOINT")


def _library(name):
    try:
        import huggingface_hub
    except ImportError:
        raise ElmoError(
            f'{name}: needs huggingface_hub: pip install "keras-elmo[huggingface]"'
        ) from None
    return huggingface_hub
