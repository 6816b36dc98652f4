from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.runs.locks import is_locked, locked


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    with locked(path):
        assert is_locked(path)
        with pytest.raises(BlockingIOError), locked(path, wait=0):
            pass
    assert not is_locked(path)
    with locked(path, wait=0):
        pass


def test_an_error_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "lock"):
        raise KeyError
    assert not is_locked(tmp_path / "lock")
