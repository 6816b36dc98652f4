"""What a module prints that is run as a process of its own, as this one must not load what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from crowdcore.core.errors import CrowdError

_PATIENCE = 3600.0  # seconds


def printed(module: str, *arguments: str, environment: Mapping[str, str] = os.environ) -> str:
    """What ``python -m module arguments`` prints.

    Raises:
        CrowdError: it failed; the last line that it said.
    """
    command = [sys.executable, "-m", module, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_PATIENCE, check=False)
    if told.returncode:
        last = (told.stderr.strip().splitlines() or [f"{module} failed, and said nothing."])[-1]
        raise CrowdError(last.removeprefix("crowdcore: "))
    return told.stdout
