"""Types of NumPy arrays, for annotations."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.int8]
Arms = NDArray[np.signedinteger]
"""Numbers of arms, in any signed type that holds them."""
Bools = NDArray[np.bool_]
