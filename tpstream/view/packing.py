"""Arrays and texts of a page as one compressed block of letters, which the page's script unpacks again."""

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"u1": 1, "u2": 2, "u4": 4, "f4": 4, "f8": 8}
"""The types of numbers that the page reads, and their sizes in bytes."""
LEVEL = 6
"""The compression of zlib: a higher one takes twice as long and saves one part in a hundred."""


class Block:
    """Gathers arrays; texts refer to them by their names.

    The bytes of the numbers of an array are stored with all first bytes first, then all second ones: neighbours are
    then alike, and compress better.

    Examples
    --------
    >>> import numpy as np
    >>> block = Block()
    >>> block.add("times", np.array([1.0, 2.0]), "f4")
    >>> block.text({"title": "a log"})[:2]
    'eJ'
    """

    def __init__(self) -> None:
        self._arrays: dict[str, list[object]] = {}
        self._bytes: list[bytes] = []
        self._size = 0

    def add(self, name: str, numbers: NDArray[Any], type: str) -> None:
        """Add an array under a name, with its numbers stored in this type; too large numbers become the largest."""
        if type.startswith("u"):
            numbers = np.clip(numbers, 0, np.iinfo(np.dtype(type)).max)
        stored = np.ascontiguousarray(numbers, dtype="<" + type)
        data = stored.reshape(-1).view(np.uint8).reshape(-1, TYPES[type]).T.tobytes()
        self._arrays[name] = [type, self._size, stored.size]
        self._bytes.append(data)
        self._size += len(data)

    def text(self, about: dict[str, Any], level: int = LEVEL) -> str:
        """Everything, compressed and in base64: the length of the JSON, the JSON, the arrays."""
        described = json.dumps({**about, "arrays": self._arrays}, allow_nan=False).encode()
        parts = [len(described).to_bytes(4, "little"), described, *self._bytes]
        return base64.b64encode(zlib.compress(b"".join(parts), level)).decode()
