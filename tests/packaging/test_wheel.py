"""The installed package: it opens a page, trains and reports, wherever it is started."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from playwright.sync_api import expect

from crowdcore.core.errors import need_extra
from dashboard.components.text import as_text
from testkit.app_server import free_port, wait_until_up
from tests.packaging.conftest import ROOT, Install

SOON = 20.0  # seconds in which an app that is asked to end has ended


@contextmanager
def running(command: list[str | Path], folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_wheel_holds_one_package_with_the_app_and_the_demo(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [archive.read(n).decode() for n in names if n.endswith("/METADATA")]
    assert Metadata.from_email(metadata, validate=True).description_content_type == "text/markdown"
    assert {name.split("/")[0] for name in names} == {"crowdcore", f"{wheel.name.split('-py3')[0]}.dist-info"}
    folders = {"dashboard": "crowdcore/_app/dashboard", "data": "crowdcore/_data", "crowdcore": "crowdcore"}
    tracked = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    expected = {folders[top] + "/" + rest for top, _, rest in (name.partition("/") for name in tracked.split())}
    assert expected <= names
    assert "Classifier: Operating System :: POSIX :: Linux" in metadata


@pytest.mark.browser
def test_the_app_opens_beside_a_hostile_module_and_ends_when_asked(installed, environment, hostile_folder, browser):
    port = free_port()
    command = [installed / "crowdcore", "app", "--port", str(port)]
    with running(command, hostile_folder, environment) as app:
        wait_until_up(f"http://localhost:{port}", app)
        page = browser.new_page(reduced_motion="reduce")
        page.goto(f"http://localhost:{port}")
        expect(page.get_by_text("5,254 annotations")).to_be_visible(timeout=60_000)
        page.get_by_role("link", name="Mistakes", exact=True).click()
        expect(page.get_by_role("heading", name="Mistakes", exact=True)).to_be_visible(timeout=60_000)
        start = time.monotonic()
        app.send_signal(signal.SIGTERM)
        output, _ = app.communicate(timeout=SOON)
        assert time.monotonic() - start < SOON
        with pytest.raises(RuntimeError):
            wait_until_up(f"http://localhost:{port}", app, 1)
        page.close()
    for path in ("shared-mistakes", "annotators", "train"):
        assert f"http://localhost:{port}/{path}?dataset=demo" in output


def test_it_trains_and_reports(installed: Path, environment: dict[str, str], hostile_folder: Path) -> None:
    def crowdcore(*arguments: str) -> str:
        command = [installed / "crowdcore", *arguments]
        done = subprocess.run(command, cwd=hostile_folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    document = json.loads(crowdcore("train", "demo", "-m", "dl-mv", "--epochs", "1", "--seeds", "1", "--json"))
    assert 0.2 < document["selected_accuracy"][0] <= 1  # ten classes
    crowdcore("report", "demo", "--part", "mistakes", "--out", "report", "--no-svg")
    assert "demo" in (hostile_folder / "report" / "report.html").read_text()


EVERY_PAGE = """
import sys
from pathlib import Path
import crowdcore
from streamlit.testing.v1 import AppTest
app = Path(crowdcore.__file__).parent / "_app" / "dashboard"
for view in sorted((app / "views").glob("*.py")):
    if view.stem == "own":  # of plug-ins, of which there are none
        continue
    test = AppTest.from_file(str(app / "app.py"), default_timeout=60)
    test.query_params["dataset"] = "demo"
    test.run()
    test.switch_page(f"views/{view.name}")
    test.run()
    assert not test.exception and not test.error, (view.stem, test.exception, test.error)
    print(view.stem, *(info.value for info in (*test.info, *test.warning)), sep="\\t")
print(sorted({"torch", "mlflow", "distributed", "optuna"} & set(sys.modules)))
"""


@pytest.fixture(scope="session")
def bare(install: Install) -> Path:
    """``bin`` of an environment without extras."""
    return install()


def test_without_extras_every_page_works_or_says_what_to_install(bare, environment, hostile_folder):
    command = [bare / "python", "-P", "-c", EVERY_PAGE]
    done = subprocess.run(command, cwd=hostile_folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    *lines, loaded = done.stdout.splitlines()
    args = {page: "\t".join(words) for page, *words in (line.split("\t") for line in lines)}
    assert {*args} == {view.stem for view in (ROOT / "dashboard" / "views").glob("*.py")} - {"own"}
    needing = {page for page, words in args.items() if "pip install" in words}
    sentence = as_text(need_extra("Training", "torch", "mlflow", "distributed", "optuna"))
    assert needing == {"compare", "confusions", "omega", "reproduction", "train"}
    assert {args[page] for page in needing} == {sentence}
    assert loaded == "[]"


@pytest.mark.parametrize("command", ["train demo", "compute-worker"])
def test_without_extras_commands_say_what_to_install(command, bare, environment, hostile_folder):
    line = [bare / "crowdcore", *command.split()]
    done = subprocess.run(line, cwd=hostile_folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(r"crowdcore: .+ not installed: pip install 'crowdcore\[\w+\]'\n", done.stderr)


NEEDING = r"""
import sys
from pathlib import Path
import crowdcore as cc
from crowdcore.figures.paper import draw
ds, rules, png = cc.load_dataset("demo"), Path("rules.yaml"), Path("x.png")
rules.write_text("rules: {}")
frame = cc.analysis.shared_mistakes(ds)
calls = {
    "train": lambda: cc.learning.train(ds),
    "train_ratings": lambda: cc.learning.train_ratings(ds),
    "CrowdClassifier": lambda: cc.learning.CrowdClassifier(),
    "fit_topics": lambda: cc.learning.fit_topics(ds),
    "list_runs": lambda: cc.runs.list_runs(),
    "submit": lambda: cc.runs.submit(cc.runs.RunSpec(dataset="demo", method="conal")),
    "crowd-kit": lambda: cc.aggregation.get("crowd-kit:GLAD").fit(ds),
    "draw": lambda: draw({png: cc.figures.shared_mistakes(frame)}),
    "rules": lambda: cc.analysis.read_rules(rules),
}
for name, call in calls.items():
    try:
        call()
        print(name, "works", sep="\t")
    except Exception as error:
        print(name, type(error).__name__, " ".join(str(error).split()), sep="\t")
print(*cc.data.catalogue.search_path(), sep="\n")
"""


def test_without_extras_the_library_says_what_to_install(bare, environment, hostile_folder):
    command = [bare / "python", "-P", "-c", NEEDING]
    done = subprocess.run(command, cwd=hostile_folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts = [line.split("\t") for line in done.stdout.splitlines()]
    wrong = [line for line in parts if len(line) > 1 and not re.search(r"pip install 'crowdcore\[", line[-1])]
    assert wrong == []
    folders = [Path(line[0]) for line in parts if len(line) == 1]
    assert hostile_folder / "data" in folders
    assert not [folder for folder in folders if folder.parent.name == "site-packages"]


def test_it_is_the_wheel_that_runs(installed: Path, environment: dict[str, str], hostile_folder: Path) -> None:
    code = "import crowdcore, importlib.util as u; print(crowdcore.__file__, u.find_spec('tests'), sep='\\n')"
    command = [installed / "python", "-P", "-c", code]
    done = subprocess.run(command, cwd=hostile_folder, env=environment, capture_output=True, text=True, check=True)
    file, tests = done.stdout.split()
    assert Path(file).is_relative_to(installed.parent)
    assert tests == "None"


def test_an_editable_install_needs_nothing_but_the_checkout(tmp_path: Path) -> None:
    build = "import hatchling.build, sys; print(hatchling.build.build_editable(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as archive:
        files = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert [archive.read(name).decode().strip() for name in files] == [str(ROOT)]
