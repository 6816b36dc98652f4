"""`python -m crowdcore` is the command line."""

from __future__ import annotations

from crowdcore.cli import main

main()
