"""A wheel built from the sdist, and an environment that holds it and nothing else of ours."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an sdist of this checkout, and of a wheel made from that sdist."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin`` of a new environment with the wheel in it, which borrows what the wheel depends on from this one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    [wheel] = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True, capture_output=True)
    [site] = (home / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))  # .pth files in there are not followed
    return home / "bin"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables that point at nothing of ours."""
    ours = {"PYTHONPATH", "CROWDCORE_DATA", "MLFLOW_TRACKING_URI"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "CROWDCORE_WORKSPACE": str(tmp_path_factory.mktemp("workspace"))}


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A user's folder with modules named like ours."""
    for name in ("dashboard", "crowdcore", "streamlit"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the user\\'s {name}.py was imported')")
    return tmp_path
