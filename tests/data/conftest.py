"""Write a small file to read."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def write(tmp_path):
    """``write(content)`` gives the path: of text or bytes as they are, else of JSON, for ``.jsonl`` a record a line."""

    def write(content, name: str = ""):
        path = tmp_path / (name or ("labels.csv" if isinstance(content, str | bytes) else "export.json"))
        if not isinstance(content, str | bytes):
            lines = (
                (json.dumps(record) + "\n" for record in content) if path.suffix == ".jsonl" else [json.dumps(content)]
            )
            content = "".join(lines)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
