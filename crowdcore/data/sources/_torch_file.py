"""Arrays from a file that ``torch.save`` wrote, without torch and without unpickling.

Both layouts: the zip of torch ≥ 1.6 (``*/data.pkl`` and the storages ``*/data/<key>``) and the older sequence of
pickles (magic number, protocol, system, object, storage keys) followed by the storages.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.data.sources._pickle_tree import Call, Name, PersistentId, read_pickle_tree

__all__ = ["read_torch_arrays"]

_MAGIC = 0x1950A86A20F9469CFC6C
_LIMIT = 1 << 26  # bytes of one zip member, or of a file that is no zip
_STORAGE_TYPES = {
    "torch.DoubleStorage": "<f8",
    "torch.FloatStorage": "<f4",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.CharStorage": "i1",
    "torch.ByteStorage": "u1",
    "torch.BoolStorage": "?",
}
_ARRAYS = {f"numpy.{core}.multiarray._reconstruct" for core in ("core", "_core")}
_ALLOWED = frozenset(
    {
        *_STORAGE_TYPES,
        *_ARRAYS,
        *("numpy.ndarray", "numpy.dtype", "_codecs.encode", "__builtin__.bytes"),
        *("collections.OrderedDict", "torch._utils._rebuild_tensor_v2"),
    }
)
# What reading a file can end in that contradicts its own description.
_MALFORMED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError),
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError),
)
_Storage = Callable[[str], bytes]


def read_torch_arrays(path: Path) -> dict[str, AnyArray]:
    """The arrays, tensors and number lists of a saved dictionary.

    Returns:
        Name -> array.

    Raises:
        DataError: not such a file, or one that asks for anything but arrays. Nothing of it is executed.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _read_zip(archive)
        if path.stat().st_size > _LIMIT:
            raise DataError(f"The file has more than the {_LIMIT} bytes allowed")
        return _read_sequence(io.BytesIO(path.read_bytes()))
    except DataError as error:
        raise DataError(str(error).rstrip(". "), file=path) from error
    except _MALFORMED as error:
        raise DataError(f"Not a file of arrays that torch saved, or cut short ({error})", file=path) from error


def _read_zip(archive: zipfile.ZipFile) -> dict[str, AnyArray]:
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    pickles = [name for name in sizes if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise DataError("The zip holds no data.pkl, so torch did not save it")
    root = pickles[0].removesuffix("data.pkl")

    def member(name: str) -> bytes:
        if name not in sizes:
            raise DataError(f"The zip lacks {name}")
        if sizes[name] > _LIMIT:
            raise DataError(f"{name} unpacks to {sizes[name]} bytes, more than the {_LIMIT} allowed")
        return archive.read(name)

    if f"{root}byteorder" in sizes and member(f"{root}byteorder") != b"little":
        raise DataError("The file was saved on a big-endian machine, which is not supported")
    tree = read_pickle_tree(io.BytesIO(member(pickles[0])), _ALLOWED)
    return _arrays(tree, lambda key: member(f"{root}data/{key}"))


def _read_sequence(stream: IO[bytes]) -> dict[str, AnyArray]:
    if read_pickle_tree(stream, _ALLOWED) != _MAGIC:
        raise DataError("The magic number of a file saved by torch is missing")
    read_pickle_tree(stream, _ALLOWED)  # protocol
    read_pickle_tree(stream, _ALLOWED)  # system
    tree = read_pickle_tree(stream, _ALLOWED)
    keys = read_pickle_tree(stream, _ALLOWED)
    types = {ref.id[2]: _item_type(ref.id[1]) for ref in _references(tree)}
    storages: dict[str, bytes] = {}
    for key in keys:
        (n,) = struct.unpack("<q", stream.read(8))
        if key not in types or not 0 <= n <= _LIMIT:
            raise DataError("The storages do not fit the object")
        storages[key] = stream.read(n * types[key].itemsize)
    return _arrays(tree, storages.__getitem__)


def _references(tree: Any) -> list[PersistentId]:
    values = list(tree.values()) if isinstance(tree, dict) else []
    tensors = [v for v in values if isinstance(v, Call) and v.name == "torch._utils._rebuild_tensor_v2"]
    return [v.args[0] for v in tensors if v.args and isinstance(v.args[0], PersistentId)]


def _arrays(tree: Any, storage: _Storage) -> dict[str, AnyArray]:
    if not isinstance(tree, dict):
        raise DataError("The file holds no dictionary of arrays")
    return {str(name): _array(value, storage) for name, value in tree.items()}


def _array(value: Any, storage: _Storage) -> AnyArray:
    if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
        return np.asarray(value)
    if isinstance(value, Call) and value.name in _ARRAYS and isinstance(value.state, tuple):
        _, shape, dtype, by_column, data = value.state
        item = _dtype(dtype)
        return np.frombuffer(_bytes(data), item).reshape(shape, order="F" if by_column else "C")
    if isinstance(value, Call) and value.name == "torch._utils._rebuild_tensor_v2":
        reference, offset, size, stride = value.args[:4]
        kind, key = reference.id[1:3]
        if stride != tuple(math.prod(size[d + 1 :]) for d in range(len(size))):
            raise DataError("A tensor of the file is a view that is not stored row by row, which is not supported")
        dtype = _item_type(kind)
        return np.frombuffer(storage(key), dtype, math.prod(size), offset * dtype.itemsize).reshape(size)
    raise DataError("The dictionary holds something that is no array")


def _item_type(kind: Any) -> np.dtype[Any]:
    if not isinstance(kind, Name) or kind.name not in _STORAGE_TYPES:
        raise DataError("A storage of the file has no type of numbers")
    return np.dtype(_STORAGE_TYPES[kind.name])


def _dtype(value: Any) -> np.dtype[Any]:
    if not isinstance(value, Call) or value.name != "numpy.dtype" or not isinstance(value.args[0], str):
        raise DataError("An array of the file has no type")
    dtype = np.dtype(value.args[0])
    if dtype.kind not in "biuf":
        raise DataError(f"An array of the file holds {dtype} and not numbers")
    return dtype.newbyteorder(">" if isinstance(value.state, tuple) and value.state[1] == ">" else "<")


def _bytes(data: Any) -> bytes:
    if isinstance(data, Call) and data.name == "_codecs.encode" and data.args[1:] == ("latin1",):
        return str(data.args[0]).encode("latin1")
    if isinstance(data, Call) and data.name == "__builtin__.bytes" and data.args == ():
        return b""
    if isinstance(data, bytes):
        return data
    raise DataError("The numbers of an array of the file are not stored as bytes")
