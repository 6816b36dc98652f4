"""The site is whole beyond what `make lint` builds strictly: menu, pictures, commands, public names, links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest

from crowdcore import figures
from tests.docs.runner import DOCS, ROOT, pages

LARGEST = 150_000  # bytes of a picture


def _leaves(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _leaves(part)


def test_the_menu_holds_every_page_once() -> None:
    menu = list(_leaves(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))
    assert sorted(menu) == sorted(str(page.relative_to(DOCS)) for page in pages())


def test_pictures_are_there() -> None:
    for page in pages():
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert words, f"{target} has no words for those who cannot see it"
            assert (page.parent / target).is_file(), target


def test_every_picture_is_shown_and_small() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in pages())
    for picture in (DOCS / "pictures").iterdir():
        assert f"pictures/{picture.name}" in shown
        assert picture.stat().st_size < LARGEST, picture.name


def test_every_figure_has_its_picture() -> None:
    functions = {name: getattr(figures, name) for name in figures.__all__}
    drawn = {n for n, f in functions.items() if getattr(f, "__annotations__", {}).get("return") == "go.Figure"}
    assert {name.replace("_", "-") for name in drawn} == {picture.stem for picture in (DOCS / "pictures").iterdir()}


def test_every_command_is_described() -> None:
    from typer.main import get_command

    from crowdcore.cli import app

    described = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in get_command(app).commands if f"crowdcore {name}" not in described] == []


def test_every_public_name_is_in_the_reference() -> None:
    import crowdcore as cc

    reference = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    wanted = [
        *(f"crowdcore.data.{name}" for name in ("CrowdDataset", *cc.__all__) if hasattr(cc.data, name)),
        *(f"crowdcore.analysis.{name}" for name in cc.analysis.__all__ if name.islower()),
        *(f"crowdcore.exhibits.{name}" for name in ("Exhibit", "View", "view")),
        *(f"crowdcore.learning.{name}" for name in ("train", "sweep", "TrainingResult")),
    ]
    assert [name for name in wanted if name.rsplit(".", 1)[-1] not in reference] == []


@pytest.mark.parametrize("file", ["README.md", ".github/CONTRIBUTING.md"])
def test_links_lead_somewhere(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    targets = [t for t in re.findall(r"\]\(([^)#]+)", text) if "://" not in t]
    assert targets
    assert [t for t in targets if not ((ROOT / file).parent / t).exists()] == []


def test_citation_and_changelog_know_the_version() -> None:
    import crowdcore

    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation
    assert citation[1] == crowdcore.__version__
    assert f"## [{crowdcore.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_tables_of_what_to_expect_are_those_of_the_results() -> None:
    """No figure is typed: every row stands in a page of benchmarks/results, and the page stays short."""
    measured = {line for page in (ROOT / "benchmarks/results").glob("*.md") for line in page.read_text().splitlines()}
    text = (DOCS / "expect.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows
    assert [row for row in rows if row not in measured] == []
    assert len(text.replace("|", " ").split()) <= 1500


def test_a_release_has_at_most_eighty_lines_of_changes() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [release.splitlines()[0] for release in releases if len(release.splitlines()) > 80] == []
