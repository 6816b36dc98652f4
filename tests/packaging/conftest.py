"""A wheel built from the sdist, and environments that hold it, what it depends on, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterable
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(sysconfig.get_path("purelib"))
Install = Callable[..., Path]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an sdist of this checkout, and of a wheel made from that sdist."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def install(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Make an environment with the wheel and some extras; return its ``bin``."""
    sites: list[Path] = []

    def make(*extras: str) -> Path:
        home = tmp_path_factory.mktemp("environment")
        venv.create(home, symlinks=True)
        [wheel] = built.glob("*.whl")
        pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
        options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *options, str(wheel)], check=True, capture_output=True)
        [site] = (home / "lib").glob("python*/site-packages")
        [info] = site.glob("crowdcore-*.dist-info")
        for file in needed(PathDistribution(info).requires or (), extras):
            if not (site / file).exists():
                (site / file).symlink_to(SITE / file)
        sites.append(site)
        if site != sites[0]:  # the same files, whose code Python and Numba compile once
            shutil.rmtree(site / "crowdcore")
            (site / "crowdcore").symlink_to(sites[0] / "crowdcore")
        else:
            share_compiled(site / "crowdcore", ROOT / "crowdcore")
        return home / "bin"

    return make


def share_compiled(package: Path, source: Path) -> None:
    """Let an installed package reuse the files compiled by Python and Numba in the checkout."""
    for file in package.rglob("*.py"):
        original = source / file.relative_to(package)
        if original.is_file() and original.read_bytes() == file.read_bytes():
            shutil.copystat(original, file)  # both know a file by its time and size
            cache = original.with_name("__pycache__")
            cache.mkdir(exist_ok=True)
            if not (link := file.with_name("__pycache__")).exists():
                link.symlink_to(cache)


def needed(requirements: Iterable[str], extras: Iterable[str]) -> set[str]:
    """Files and folders of site-packages for requirements, and for theirs: links stand in for downloads."""
    waiting, seen = [(r, e) for r in requirements for e in ("", *extras)], set()
    while waiting:
        line, extra = waiting.pop()
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            new = {(wanted.name, e) for e in ("", *wanted.extras)} - seen
            seen |= new
            waiting += [(r, e) for name, e in new for r in distribution(name).requires or ()]
    files = (file.parts[0] for name, _ in seen for file in distribution(name).files or ())
    return {name for name in files if name not in {"..", "__pycache__", "crowdcore"}}


@pytest.fixture(scope="session")
def installed(install: Install) -> Path:
    """``bin`` of an environment that can train."""
    return install("learning", "runs")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables without our paths."""
    ours = {"PYTHONPATH", "CROWDCORE_DATA", "MLFLOW_TRACKING_URI"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {
        **kept,
        "CROWDCORE_WORKSPACE": str(tmp_path_factory.mktemp("workspace")),
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
    }


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A user's folder with modules named like ours."""
    for name in ("dashboard", "crowdcore", "streamlit"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the user\\'s {name}.py was imported')")
    return tmp_path
