import numpy as np
import pytest
from keras import ops

from keras_elmo.optimizers.clipping import clip_by_global_norm

GRADIENTS = [np.array([[3.0, 0.0]], "float32"), np.array([4.0], "float32")]  # norm 5


@pytest.mark.parametrize(("clip_norm", "scale"), [(1.0, 0.2), (10.0, 1.0), (None, 1.0)])
def test_norm_of_all_together(clip_norm, scale):
    found = clip_by_global_norm([ops.convert_to_tensor(g) for g in GRADIENTS], clip_norm)
    for gradient, expected in zip(found, GRADIENTS, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(gradient), expected * scale, rtol=1e-6)
