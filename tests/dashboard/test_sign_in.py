"""Who may enter a shared deployment."""

from __future__ import annotations

import pytest

from dashboard.components.sign_in import may_enter

ADA = {"email": "Ada@Lab.example", "email_verified": True}


@pytest.mark.parametrize(
    ("user", "access", "enters"),
    [
        (ADA, {}, True),
        (ADA, {"domains": ["lab.example"]}, True),
        (ADA, {"emails": ["ada@lab.example"]}, True),
        (ADA, {"emails": ["eve@lab.example"]}, False),
        (ADA, {"domains": ["evil-lab.example", "example"]}, False),
        ({"email": "ada@lab.example", "email_verified": False}, {"domains": ["lab.example"]}, False),
        ({"name": "no address"}, {"domains": ["lab.example", ""]}, False),
    ],
)
def test_may_enter(user: dict[str, object], access: dict[str, list[str]], enters: bool) -> None:
    assert may_enter(user, access) is enters
