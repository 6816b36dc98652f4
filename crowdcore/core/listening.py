"""Addresses that a server listens on: this machine's own, or ones that others can reach."""

from __future__ import annotations

import ipaddress

LET_ANYONE_IN = "CROWDCORE_LET_ANYONE_IN"
"""Environment variable: ``yes`` serves others without sign-in; `crowdcore app --let-anyone-in` sets it."""


def is_this_machine(address: str) -> bool:
    """Return whether only this machine can reach a server on the address; of names, localhost alone.

    Examples:
        >>> [is_this_machine(a) for a in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "192.168.1.5", "lab", "")]
        [True, True, True, False, False, False, False, False]
    """
    if address.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def would_let_anyone_in(address: str) -> str:
    """The refusal to serve others without sign-in."""
    return (
        f"The app would listen on {address!r} and let anyone in: have people sign in (docs/sharing.md), "
        "listen on localhost, or say `crowdcore app --let-anyone-in`."
    )
