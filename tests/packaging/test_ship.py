"""Shipped files agree with the package, and unsupported systems are refused in words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import crowdcore as cc
from crowdcore.cli import main
from crowdcore.core import errors
from tests.packaging.conftest import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(file: str) -> Any:
    return yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))


def names(lines: list[str]) -> dict[str, SpecifierSet]:
    requirements = (Requirement(line) for line in lines)
    return {one.name.lower(): one.specifier for one in requirements}


def test_every_file_has_the_version_of_the_package() -> None:
    assert read("CITATION.cff")["version"] == cc.__version__
    assert read("recipe/meta.yaml")["package"] == {"name": PROJECT["name"], "version": cc.__version__}
    assert read("compose.yaml")["services"]["app"]["image"] == f"crowdcore:{cc.__version__}"
    assert f" crowdcore:{cc.__version__} " in (ROOT / "docs/sharing.md").read_text()
    assert f"## [{cc.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_recipe_has_the_same_requirements() -> None:
    run = [line for line in read("recipe/meta.yaml")["requirements"]["run"] if line != "__unix"]
    assert names(run) == names(PROJECT["dependencies"]) | {"python": SpecifierSet(PROJECT["requires-python"])}


def test_python_versions_are_declared_and_tested() -> None:
    declared = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", c)]
    assert read(".github/workflows/ci.yml")["jobs"]["check"]["strategy"]["matrix"]["python"] == declared
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert [v for v in (f"3.{minor}" for minor in range(9, 20)) if v in allowed] == declared


def test_a_release_is_published_without_a_secret() -> None:
    jobs = read(".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "build"
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_the_container_serves_as_its_own_user_with_extras_that_there_are() -> None:
    text = (ROOT / "Dockerfile").read_text()
    steps = [line.split(" ", 1) for line in re.sub(r"\\\n", " ", text).splitlines() if re.match("[A-Z]+ ", line)]
    kinds = [kind for kind, _ in steps]
    assert kinds.index("USER") < kinds.index("ENTRYPOINT") and "HEALTHCHECK" in kinds and ["ARG", "TORCH=cpu"] in steps
    [extras] = re.findall(r"/source\[([\w,-]+)\]", text)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    command = json.loads(dict(steps)["ENTRYPOINT"])
    assert command[:2] == ["crowdcore", "app"] and "--let-anyone-in" not in command
    volumes = read("compose.yaml")["services"]["app"]["volumes"]
    assert all(volume.split(":")[1].startswith(dict(steps)["WORKDIR"]) for volume in volumes)
    assert json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["forwardPorts"] == [8501]


def test_the_space_shows_the_port_of_the_container() -> None:
    _, front, _ = (ROOT / "deploy/space.md").read_text(encoding="utf-8").split("---\n", 2)
    facts = yaml.safe_load(front)
    assert (facts["sdk"], facts["app_port"]) == ("docker", 8501)
    assert "EXPOSE 8501" in (ROOT / "Dockerfile").read_text() and len(facts["short_description"]) <= 60


def test_papers_are_cited_in_full() -> None:
    for paper in read("CITATION.cff")["references"]:
        assert paper["title"] and paper["year"] and all(a["family-names"] for a in paper["authors"])


@pytest.mark.parametrize("package", errors._EXTRAS)
def test_a_missing_package_is_one_sentence_that_names_its_extra(package: str) -> None:
    message = str(errors.need_extra("This", package))
    [extra] = re.findall(r"pip install 'crowdcore\[([\w-]+)\]'", message)
    assert message.count("\n") == 0 and extra in PROJECT["optional-dependencies"]


def test_data_are_never_looked_for_beside_the_installed_package(tmp_path, monkeypatch) -> None:
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "classes.txt").write_text("no\nyes\n")
    (tmp_path / "data" / "mine" / "annotations.csv").write_text("task,worker,label\na,ann,no\nb,ann,yes\n")
    monkeypatch.chdir(tmp_path)
    assert cc.load_dataset("mine").n_annotations == 2


SENTENCE = "works on Linux and macOS only, but this system is 'win32'. On Windows, use the Windows Subsystem for Linux"


def test_the_command_line_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as end:
        main(["datasets"])
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"crowdcore: crowdcore {SENTENCE}")
    assert err.count("\n") == 1


def test_training_in_the_background_is_refused_and_analysis_is_not() -> None:
    code = (
        "import sys, crowdcore as cc, crowdcore.analysis, crowdcore.data.catalogue\n"
        "cc.load_dataset('demo'), cc.analysis.summary\n"
        "sys.platform = 'win32'\n"
        "cc.analysis.summary(cc.load_dataset('demo'))\n"
        "try: cc.runs.submit\n"
        "except cc.CrowdError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Training in the background {SENTENCE}")
