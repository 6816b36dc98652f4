"""Small files that unfold to gigabytes, each built in milliseconds."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdcore.data import rows as arrays

ROWS = 100_000


def parquet_of_many_rows(path: Path, n_rows: int = 2000 * ROWS) -> Path:
    """The same row group listed again and again: kilobytes, a valid file, all rows really there."""
    columns = {
        name: pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int32), pa.array([name]))
        for name in ("task", "worker", "label")
    }
    pq.write_table(pa.table(columns), path, row_group_size=ROWS, store_schema=False)
    footer, one = pq.read_metadata(path), pq.read_metadata(path)
    for _ in range(n_rows // ROWS - 1):
        footer.append_row_groups(one)
    alone = io.BytesIO()
    footer.write_metadata_file(alone)
    raw = path.read_bytes()
    body = raw[: -8 - struct.unpack("<I", raw[-8:-4])[0]]
    path.write_bytes(body + alone.getvalue()[4:])
    return path


def csv_of_many_columns(path: Path, columns: int = 1_000_000) -> Path:
    """A megabyte of delimiters, i.e. a million columns."""
    path.write_bytes(b"task,worker,label" + b"," * columns + b"\n" + b"a,b,c" + b"," * columns + b"\n")
    return path


def parquet_of_long_cells(path: Path, length: int = 4 << 20) -> Path:
    """Names of 4 MB in a file of kilobytes."""
    pq.write_table(pa.table({"task": ["x" * length], "worker": ["ann"], "label": ["cat"]}), path, compression="zstd")
    return path


def png(width: int, height: int) -> bytes:
    """A black picture: a kilobyte of zlib for a thousand kilobytes of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(bytes((1 + -(-width // 8)) * height), 1)  # one bit each
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def images(*files: bytes) -> arrays.EncodedImages:
    return arrays.EncodedImages(
        np.frombuffer(b"".join(files), np.uint8), np.cumsum([0, *map(len, files)]).astype(np.int64)
    )


def npy(shape: str, data: bytes = b"") -> bytes:
    """A ``.npy`` whose header claims a shape, whatever it holds."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()
