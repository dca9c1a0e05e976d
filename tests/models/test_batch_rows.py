import numpy as np

from keras_elmo.models.batch_rows import some_rows


def test_only_what_is_by_row_is_cut():
    names = ["forward", "forward_targets", "backward_target_rows", "state_kept"]
    shared = ["char_ids", "char_ids_long", "softmax_rows", "forward_candidate_rows"]
    batch = {name: np.arange(4) for name in names + shared}
    found = some_rows(batch, slice(1, 3))
    assert all(found[name].tolist() == [1, 2] for name in names)
    assert all(found[name] is batch[name] for name in shared)
