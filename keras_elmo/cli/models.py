"""The commands about model files: info, convert and export."""

import click

from keras_elmo.cli.options import offline_option


@click.command()
@click.argument("source", nargs=-1, metavar="[SOURCE...]")
@offline_option
def info(source):
    """Show what a model is: its kind, sizes and origin, what is there and what is not.

    SOURCE: a name, path or URL of a model, or of its options, weights and vocabulary. Default: the
    English model that comes with the package.
    """
    from keras_elmo.info import describe

    lines = describe(source if len(source) > 1 else next(iter(source), None))
    width = max(map(len, lines))
    for name, value in lines.items():
        click.echo(f"{name:{width}}  {value}")


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...")
@click.argument("target", type=click.Path())
@click.option(
    "--layout",
    type=click.Choice(["folder", "safetensors", "published"]),
    default="folder",
    show_default=True,
    help="folder: ours; safetensors: ours, with such weights; published: options.json and "
    "weights.hdf5 for AllenNLP and simple_elmo.",
)
@click.option("--dtype", type=click.Choice(["float16"]), help="Halve the weights.")
@offline_option
def convert(source, target, layout, dtype):
    """Turn any published model into a folder, and back.

    SOURCE: a name, path or URL of a model, or of its options, weights and vocabulary.
    """
    from keras_elmo.convert.conversion import convert

    convert(source if len(source) > 1 else source[0], target, layout, dtype)
    click.echo(f"{target}: written")


@click.command()
@click.argument("source", metavar="MODEL")
@click.argument("target", type=click.Path())
@click.option(
    "--format",
    "form",
    required=True,
    metavar="savedmodel|litert|onnx|openvino",
    help="savedmodel: a folder for TensorFlow Serving, such as elmo/1; litert: a .tflite file; "
    "onnx: an .onnx file; openvino: an .xml and a .bin file.",
)
@click.option("--weights", metavar="int8|float16|float32", help="How the weights are stored.")
@click.option(
    "--outputs", multiple=True, metavar="mix|top|all", help="What it answers; repeatable."
)
@click.option(
    "--lengths", multiple=True, type=int, metavar="N", help="litert: a fixed length; repeatable."
)
@click.option("--tokenizer", metavar="NAME", help="savedmodel: tensorflow-text, for raw text.")
@click.option("--warm-up", is_flag=True, help="savedmodel: add requests to warm up with.")
@offline_option
@click.pass_context
def export(context, source, target, form, **options):
    """Write MODEL to TARGET for servers and devices, by way of TensorFlow.

    MODEL: a preset, a folder of a model, or one with options.json and weights; or the folder of
    a task model.
    """
    from keras_elmo import backend
    from keras_elmo.export.formats import check
    from keras_elmo.export.formats import export
    from keras_elmo.presets import load
    from keras_elmo.tasks.folder import is_task_model

    check(form, options)
    if backend.BACKEND != "tensorflow":
        context.exit(backend.run_command_on("tensorflow"))
    if is_task_model(source):
        from keras_elmo.tasks.export import export_folder

        export_folder(source, target, form, **options)
    else:
        export(load(source), target, form, **options)
    click.echo(f"{target}: written")
