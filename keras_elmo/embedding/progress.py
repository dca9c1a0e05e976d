"""What is shown while a file is embedded."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn
from rich.progress import Progress
from rich.progress import TaskProgressColumn
from rich.progress import TextColumn
from rich.progress import TimeRemainingColumn


class EmbeddingProgress:
    """A line on standard error: how far, tokens per second, time left.

    Args:
        source: the `SentenceFile` that is being embedded.

    Attributes:
        sentences: how many are done, those of an interrupted run included.
        tokens: how many these hold.
        first: the first sentence of this run, with its array; `None` before.

    Example:
        >>> with EmbeddingProgress(source) as progress:
        ...     embed_file(embedder, source, "vectors.h5", progress=progress)
    """

    def __init__(self, source):
        self.sentences = self.tokens = 0
        self.first = None
        self._source = source
        self._new_tokens = 0
        self._bar = Progress(
            TextColumn("Embedding"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]:,.0f} tokens/s"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
        )

    @property
    def seconds(self):
        """Time since the start."""
        return time.perf_counter() - self._start

    @property
    def speed(self):
        """Tokens per second of this run."""
        return self._new_tokens / self.seconds

    def __enter__(self):
        self._start = time.perf_counter()
        self._task = self._bar.add_task("", total=self._source.size, speed=0)
        return self

    def __exit__(self, *_):
        if self._bar.live.is_started:
            self._bar.stop()

    def __call__(self, sentences, arrays):
        tokens = sum(len(sentence.tokens) for sentence in sentences)
        self.sentences += len(sentences)
        self.tokens += tokens
        if arrays is not None:
            self.first = self.first or (sentences[0], arrays[0])
            self._new_tokens += tokens
        # The file is read ahead of what is done.
        self._bar.start()
        done = self._source.position() * self.tokens // max(1, self._source.tokens)
        self._bar.update(self._task, completed=done, speed=self.speed)
