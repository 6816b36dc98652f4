"""A cluster of several machines: whoever may send to its scheduler runs code on all of them, so TLS guards it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from crowdcore.core.errors import DataError, SettingError

if TYPE_CHECKING:
    from distributed import Security

    from crowdcore.runs.workspace import Workspace

SLOT, CONCLUDING = "slot", "concluding"
"""Dask resources: runs that train at once, and cancelled ones whose checkpoint becomes a result, which is soon done."""
JOIN = "CROWDCORE_SCHEDULER"
"""Address of the scheduler that the engine and workers join."""
KEY = "CROWDCORE_CLUSTER_KEY"
"""File with the cluster's private key and certificate; default: ``engine/cluster.pem`` in the workspace."""
UNGUARDED = "CROWDCORE_ANYONE_MAY_RUN_CODE"
"""Allows a scheduler without TLS when it is "1"."""


def check_scheduler(address: str) -> None:
    """Refuse a scheduler that does not ask who connects; "" stands for the engine's own, which does.

    Raises:
        SettingError: its address is not ``tls://HOST:PORT``, and `UNGUARDED` is not "1".
    """
    if address and not address.startswith("tls://") and os.environ.get(UNGUARDED) != "1":
        raise SettingError(
            JOIN,
            "be tls://HOST:PORT",
            address,
            "Without TLS, anyone who reaches the scheduler can run code on every machine of the cluster: start it with "
            f"`crowdcore scheduler`. Where nobody else reaches the network, {UNGUARDED}=1 allows it.",
        )


def cluster_security(workspace: Workspace, address: str) -> Security | None:
    """How to connect to a scheduler: with the cluster's key, or with what Dask's own configuration says.

    Raises:
        SettingError: the scheduler has no TLS, which has not been allowed.
        DataError: there is no key.
    """
    import distributed

    check_scheduler(address)
    if not address.startswith("tls://"):
        return None
    own = distributed.Security(require_encryption=True)
    if not os.environ.get(KEY) and own.tls_ca_file:  # type: ignore[attr-defined]
        return own
    pem = key_file(workspace)
    if not pem.is_file():
        raise DataError(
            f"There is no key of the cluster at {pem}",
            f"`crowdcore scheduler` makes it in a workspace that all machines share; else copy it and set {KEY}.",
        )
    return tls(pem)


def key_file(workspace: Workspace) -> Path:
    """Where the cluster's key is, or would be."""
    return Path(os.environ.get(KEY) or workspace.folder / "engine" / "cluster.pem")


def make_key(pem: Path) -> None:
    """Write a private key and its certificate, valid for a year, that only their owner may read."""
    from distributed import Security

    made = Security.temporary()
    pem.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pem.unlink(missing_ok=True)
    with os.fdopen(os.open(pem, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(made.tls_scheduler_key + made.tls_scheduler_cert)


def tls(pem: Path) -> Security:
    """TLS in which both sides must hold the key."""
    import distributed

    ends = {f"tls_{role}_{part}": str(pem) for role in ("client", "scheduler", "worker") for part in ("cert", "key")}
    return distributed.Security(require_encryption=True, tls_ca_file=str(pem), **ends)
