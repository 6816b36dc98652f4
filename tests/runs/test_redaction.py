from __future__ import annotations

import pytest

from crowdcore.runs.faults import redact


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("HF_TOKEN", "hf_abcdefgh", "<HF_TOKEN>"),
        ("AWS_SECRET_ACCESS_KEY", "a/b+c=defgh", "<AWS_SECRET_ACCESS_KEY>"),
        ("DB_PASSWORD", "correct horse", "<DB_PASSWORD>"),
        ("openai_api_key", "sk-123456", "<openai_api_key>"),
        ("SHORT_TOKEN", "a", "a"),
        ("EDITOR", "nano-nano", "nano-nano"),
    ],
)
def test_values_that_look_like_keys(monkeypatch: pytest.MonkeyPatch, name: str, value: str, kept: str) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"it was {value}!") == f"it was {kept}!"


def test_passwords_in_addresses() -> None:
    assert redact("postgresql://me:s3cret@host/db and http://host/a@b") == "postgresql://…@host/db and http://host/a@b"
