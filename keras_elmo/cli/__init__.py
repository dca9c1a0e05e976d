"""The command `keras-elmo`. Each command imports what it needs when it runs."""

import click

from keras_elmo.cli.embedding import embed
from keras_elmo.cli.embedding import similar
from keras_elmo.cli.group import Commands
from keras_elmo.cli.models import convert
from keras_elmo.cli.models import export
from keras_elmo.cli.models import info
from keras_elmo.cli.training import build_vocab
from keras_elmo.cli.training import evaluate
from keras_elmo.cli.training import pretrain
from keras_elmo.cli.training import score
from keras_elmo.version import __version__


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="keras-elmo")
def main():
    """ELMo: deep contextualized word vectors."""


for command in (build_vocab, convert, embed, evaluate, export, info, pretrain, score, similar):
    main.add_command(command)
