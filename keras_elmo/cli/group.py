"""How the commands fail."""

import click

from keras_elmo.errors import ElmoError


class _Failure(click.ClickException):
    exit_code = 2

    def show(self, file=None):
        click.echo(f"keras-elmo: {' '.join(self.message.split())}", err=True)


class Commands(click.Group):
    """Commands whose errors are one line on standard error and exit status 2."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (ElmoError, OSError) as error:
            raise _Failure(one_line(error)) from error


def one_line(error):
    """What an error says, without the number that the system gives it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
