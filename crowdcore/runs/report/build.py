"""From a dataset and its runs to a report: sections of exhibits, and all that is needed to compute them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from crowdcore.analysis.reference import ReferenceLike
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.pseudonyms import hide_names
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits import Exhibit, view
from crowdcore.learning.comparison import variation
from crowdcore.runs.report.parts import Material, Part, parts_of

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt


@dataclass(frozen=True, eq=False)
class Trained:
    """A run as a report takes it.

    Args:
        id: of the run.
        result: what it came to.
        command: the command line that computes it again.
        name: the name that somebody gave it.
    """

    id: str
    result: Learnt
    command: str
    name: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report.

    Args:
        name: as in `PARTS`.
        title: its heading.
        exhibits: what it shows.
        words: why there is nothing to show, if so.
    """

    name: str
    title: str
    exhibits: tuple[Exhibit, ...]
    words: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """What to write.

    Args:
        dataset: its name.
        fingerprint: its content hash.
        reference: what the dataset's own figures take for the truth.
        pseudonymised: whether workers go by pseudonyms.
        sections: in the order of `PARTS`, then how it was made.
        made: when, UTC.
        runs: one entry per run: name, id, method, settings, seeds, versions, device, command and so on.
        command: the command line that makes this report again.
    """

    dataset: str
    fingerprint: str
    reference: str
    pseudonymised: bool
    sections: tuple[Section, ...]
    made: datetime
    runs: tuple[dict[str, Any], ...]
    command: str

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """All there is to see."""
        return tuple(exhibit for section in self.sections for exhibit in section.exhibits)


def build(
    dataset: Labelled,
    runs: Sequence[Trained] = (),
    parts: Sequence[str] | None = None,
    *,
    crowds: Sequence[CrowdDataset] = (),
    reference: ReferenceLike = "gold",
    show_names: bool = False,
    command: str = "",
) -> Report:
    """Put a report together.

    Args:
        dataset: what it is about.
        runs: on this dataset as it is now; those on ``crowds`` take part in the sweeps only.
        parts: names of `PARTS`; default: all that these data and runs have something for.
        crowds: other datasets that some of the runs were trained on.
        reference: what the dataset's own figures take for the truth.
        show_names: show the workers' ids instead of pseudonyms.
        command: the command line that makes this report again.

    Raises:
        SettingError: no such part, or parts about runs without a run.
        DataError: a run on other data, or on ``crowds`` without a sweep to take part in.
    """
    known, of_data = parts_of(dataset), parts_of(dataset, runs=False)
    chosen = [part for part in known if part in parts] if parts is not None else [*known]
    for part in parts or ():
        if part not in known:
            raise SettingError("parts", f"be among {', '.join(known)}", part)
        if part not in of_data and not runs:
            raise SettingError("runs", f"hold at least one for the part {part!r}", [])
    if not runs:
        chosen = [part for part in chosen if part in of_data]
    own, guests = _apart(dataset, runs, crowds)
    if guests and not (own and "sweeps" in chosen):
        raise DataError(
            f"Run {guests[0].id} was trained on {guests[0].result.dataset}, which takes part in sweeps only",
            f"Keep the part 'sweeps', and choose at least one run on {dataset.name}.",
        )
    names = _names(own)
    results: dict[str, Any] = dict(zip(names, (run.result for run in own), strict=True))
    others = [run.result for run in guests]
    shown = view(dataset, reference, hidden=not show_names)
    own_names = show_names or dataset.kind.numeric
    material = Material(shown, dataset if own_names else hide_names(dataset), results, others, crowds)  # type: ignore[type-var]
    sections = _sections(material, chosen, known)
    runs = [*own, *guests]
    names += _names(runs)[len(own) :]
    how = Section("how", "How it was made", tuple(_how(names, runs)))
    return Report(
        dataset.name,
        dataset.fingerprint,
        shown.truth.name,
        not show_names,
        (*sections, *([how] if runs else [])),
        datetime.now(UTC),
        tuple(_facts(name, run) for name, run in zip(names, runs, strict=True)),
        command,
    )


def _names(runs: Sequence[Trained]) -> list[str]:
    return variation.names([variation.facts(run.result) for run in runs], [run.name for run in runs])


def command_line(
    dataset: str, runs: Sequence[str], parts: Sequence[str], reference: str, show_names: bool, out: str
) -> str:
    """``crowdcore report …`` with what a report was asked for; empty parts and reference stand for the defaults."""
    words = ["crowdcore", "report", dataset, *(word for run in runs for word in ("--run", run))]
    words += [word for part in parts for word in ("--part", part)]
    words += ["--reference", reference] if reference else []
    return shlex.join([*words, *(["--names"] if show_names else []), "--accept", "--out", out])


def _apart(
    dataset: Labelled, runs: Sequence[Trained], crowds: Sequence[CrowdDataset]
) -> tuple[list[Trained], list[Trained]]:
    """The runs on the dataset, and those on the crowds."""
    own = [run for run in runs if run.result.fingerprint == dataset.fingerprint]
    guests = [run for run in runs if run.result.fingerprint != dataset.fingerprint]
    known = {crowd.fingerprint for crowd in crowds}
    for run in guests:
        if run.result.fingerprint not in known:
            called = " or ".join(dict.fromkeys(each.name for each in (dataset, *crowds)))
            raise DataError(
                f"Run {run.id} was trained on {run.result.dataset} with other annotations than those of {called}",
                "A report is about one dataset as it is now; choose runs on it.",
            )
    return own, guests


def _sections(of: Material, chosen: Sequence[str], parts: Mapping[str, tuple[str, Part]]) -> list[Section]:
    """The chosen parts that have something to show, or to say."""
    found = []
    for part in chosen:
        title, make = parts[part]
        try:
            exhibits = tuple(_portable(exhibit) for exhibit in make(of) if exhibit is not None)
        except CrowdError as refusal:
            found.append(Section(part, title, (), str(refusal)))
        else:
            found += [Section(part, title, exhibits)] if exhibits else []
    return found


def _portable(exhibit: Exhibit) -> Exhibit:
    """With points that any browser and any policy can draw: WebGL compiles code at run time; without empty columns."""
    if len(exhibit.table):
        exhibit = replace(exhibit, table=exhibit.table.dropna(axis=1, how="all"))
    if exhibit.figure is None or all(trace.type != "scattergl" for trace in exhibit.figure.data):
        return exhibit
    drawn = exhibit.figure.to_plotly_json()
    traces = [{**t, "type": "scatter"} if t["type"] == "scattergl" else t for t in drawn["data"]]
    return replace(exhibit, figure=go.Figure(traces, drawn["layout"]))


def _facts(name: str, run: Trained) -> dict[str, Any]:
    """What a machine wants to know of a run."""
    r = run.result
    return {
        "name": name,
        "id": run.id,
        "dataset": r.dataset,
        "method": r.method,
        "settings": r.settings,
        "training": r.training,
        "seeds": list(r.seeds),
        "validated_on": r.validated_on,
        "selected_epoch": r.selected_epoch.tolist(),
        "seconds": r.seconds,
        "device": r.device,
        "versions": r.versions,
        "notes": list(r.notes),
        "command": run.command,
    }


def _how(names: Sequence[str], runs: Sequence[Trained]) -> list[Exhibit]:
    """Settings and versions, a column per run; command lines."""
    if not runs:
        return []
    known = [variation.facts(run.result) for run in runs]
    rows = [key for key in dict.fromkeys(key for one in known for key in one) if not key.startswith("name: ")]
    settings = {
        "setting": [variation.in_words(key) for key in rows],
        **{name: [_said(one.get(key, "–")) for key in rows] for name, one in zip(names, known, strict=True)},
    }
    packages = dict.fromkeys(p for run in runs for p in run.result.versions)
    versions = {
        "what": ["seeds", "device", *packages],
        **{
            name: [
                ", ".join(map(str, run.result.seeds)),
                run.result.device,
                *(run.result.versions.get(p, "–") for p in packages),
            ]
            for name, run in zip(names, runs, strict=True)
        },
    }
    commands = pd.DataFrame({"run": names, "id": [r.id for r in runs], "command": [r.command for r in runs]})
    return [
        Exhibit("settings", "Settings of every run", None, pd.DataFrame(settings)),
        Exhibit("versions", "Seeds, devices and versions", None, pd.DataFrame(versions)),
        Exhibit("commands", "The command lines that compute the runs again", None, commands),
    ]


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
