"""Options and arguments that several commands share."""

import os

import click

from keras_elmo.convert.download import OFFLINE


def layers_of(*names):
    """A callback for an option: one of the names, or the number of a layer as int."""

    def checked(ctx, param, value):
        if value in names:
            return value
        if value.isdigit():
            return int(value)
        raise click.BadParameter(f"use {', '.join(names)} or the number of a layer.")

    return checked


def _go_offline(ctx, param, value):
    if value:
        os.environ[OFFLINE] = "1"


corpus_argument = click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")
model_option = click.option(
    "--model",
    metavar="MODEL",
    help="A preset, a folder of a model, or one with options.json and weights. Default: the "
    "English model that comes with the package.",
)
offline_option = click.option(
    "--offline",
    is_flag=True,
    expose_value=False,
    callback=_go_offline,
    help="Never touch the network.",
)
