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
        except ElmoError as error:
            raise _Failure(str(error)) from error
        except OSError as error:
            if error.filename is None:
                raise _Failure(error.strerror or str(error)) from error
            raise _Failure(f"{error.filename}: {error.strerror}") from error
