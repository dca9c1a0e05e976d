"""`python -m keras_elmo` is the command `keras-elmo`."""

from keras_elmo.cli import main

main(prog_name="keras-elmo")
