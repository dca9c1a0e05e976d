import h5py
import numpy as np
import pytest

from keras_elmo import load
from keras_elmo.convert import bilm_hdf5
from tests import fixtures
from tests import reference
from tests.models.test_elmo import make
from tests.models.test_elmo import numbers


@pytest.mark.parametrize("rows", [261, 262])
def test_one_layer_without_the_level_of_several_cells(rows, tmp_path):
    options = fixtures.make_options(num_layers=1)
    arrays = fixtures.make_arrays(options, rows=rows)
    single = {name.replace("MultiRNNCell/Cell0/", ""): array for name, array in arrays.items()}
    assert set(single) != set(arrays)
    elmo = load(fixtures.write_model(tmp_path, options, single))
    ids = fixtures.make_char_ids()
    expected = reference.elmo(ids, reference.build(options, arrays))
    found = numbers(elmo(ids))
    np.testing.assert_allclose(found["layers"], expected["layers"], rtol=0, atol=1e-5)
    bilm_hdf5.save(elmo, tmp_path / "o.json", tmp_path / "w.hdf5")
    with h5py.File(tmp_path / "w.hdf5") as file:
        for name, array in single.items():
            np.testing.assert_array_equal(file[name][()], array)


def test_a_model_of_our_own_goes_there_and_back(tmp_path):
    elmo = make()
    bilm_hdf5.save(elmo, tmp_path / "options.json", tmp_path / "weights.hdf5")
    other = load(tmp_path)
    ids = fixtures.make_char_ids(max_characters=12)
    expected = numbers(elmo(ids))
    for name, values in numbers(other(ids)).items():
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-6)
    model = reference.read(tmp_path / "options.json", tmp_path / "weights.hdf5")
    np.testing.assert_allclose(
        expected["layers"], reference.elmo(ids, model)["layers"], rtol=0, atol=1e-5
    )
