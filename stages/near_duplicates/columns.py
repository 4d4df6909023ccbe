"""Matrices of numbers as columns of Arrow tables, so that pieces of work travel between processes and into files."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def column_of(matrix: NDArray[Any]) -> pa.FixedSizeListArray:
    """Return a matrix as a column, a list for each row."""
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def matrix_of(table: pa.Table, name: str) -> NDArray[Any]:
    """Return such a column as a matrix again; a plain column as a vector."""
    column = table[name].combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.flatten().to_numpy()).reshape(-1, column.type.list_size)
    return np.asarray(column.to_numpy(zero_copy_only=False))
