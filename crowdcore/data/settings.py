"""Settings for reading a file, by default detected from its content; and the kinds of labels that they read.

`LabelKind` says what each kind is called, where its labels stand and which settings read them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from pydantic import ConfigDict, Field

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.settings import Settings

if TYPE_CHECKING:
    from crowdcore.data.dataset import CrowdDataset
    from crowdcore.data.ratings import Labelled, RatingDataset

Kind: TypeAlias = Literal["classes", "ratings"]
Merge: TypeAlias = Literal["variants"] | dict[str, tuple[str, ...]] | None

MEDIA: tuple[str, ...] = ("text", "image", "audio")


class ReadSettings(Settings):
    """Reading options; those left out are detected. Column names are those of the file.

    With a setting of ratings (``low``, ``high`` or ``levels``) labels are read as ratings.
    """

    model_config = ConfigDict(coerce_numbers_to_str=True)  # a column called 1, a class called 0

    format: str | None = Field(default=None, description="Reader: long, wide, folder or that of a tool, e.g. mturk.")
    task: str | tuple[str, ...] | None = Field(
        default=None, description="Column of the task; several that name it together, as a list."
    )
    worker: str | None = Field(default=None, description="Column of the worker.")
    workers: tuple[str, ...] | None = Field(default=None, description="Columns of a wide table that are workers.")
    label: str | None = Field(default=None, description="Column of the label; of a tool: the question or control.")
    gold: str | None = Field(default=None, description="Column of the true class.")
    split: str | None = Field(default=None, description="Column of train, valid, test.")
    text: str | None = Field(default=None, description="Column of the task's text.")
    image: str | None = Field(default=None, description="Column of the path of the task's image.")
    audio: str | None = Field(default=None, description="Column of the path of the task's sound.")
    kind: Kind | None = Field(default=None, description="What the labels are: classes, or tags of tokens; or ratings.")
    classes: tuple[str, ...] | None = Field(default=None, description="Class list, in the order to use.")
    merge_classes: Merge = Field(
        default=None,
        description='Labels that are one class: "variants" (of case, accents, width, blanks), or {name: spellings}.',
    )
    merge_workers: Merge = Field(
        default=None, description='Worker ids that are one worker: "variants", or {name: spellings}.'
    )
    merge_tasks: bool | None = Field(
        default=None, description="Whether tasks that are the same number, such as 1, 01 and 1.0, are one task."
    )
    encoding: str | None = Field(default=None, description="Encoding of a text file, e.g. latin-1.")
    delimiter: str | None = Field(default=None, min_length=1, max_length=1, description="Delimiter of a text file.")
    decimal: Literal[",", "."] | None = Field(
        default=None, description="Sign before the decimals of numbers; the other one may part thousands: 1,234.5."
    )
    quotes: bool | None = Field(default=None, description="Whether quotes enclose cells; if not, they are letters.")
    header: bool | None = Field(default=None, description="Whether the first row holds column names.")
    skip: int | None = Field(default=None, ge=0, description="Lines above the row of column names, such as a title.")
    extra_headers: int | None = Field(
        default=None, ge=0, description="Rows below the column names that explain them, such as question texts."
    )
    sheet: str | None = Field(default=None, description="Sheet of a workbook.")
    turn: bool | None = Field(default=None, description="Whether rows are workers, and columns are tasks.")
    fill: tuple[str, ...] | None = Field(
        default=None, description="Columns whose empty cells stand for the cell above, as where cells were merged."
    )
    totals: bool | None = Field(default=None, description="Whether the last row of a wide table holds totals.")
    question: str | None = Field(default=None, description="Which of several questions to read.")
    gold_worker: str | tuple[str, ...] | None = Field(
        default=None, description="Worker whose labels are the true classes; several where they agree, as a list."
    )
    time: str | None = Field(default=None, description="Column of the time at which a label was given.")
    missing: tuple[str, ...] | None = Field(
        default=None, description="Labels that count as missing; empty cells always do."
    )
    repeats: Literal["keep", "first", "last", "majority"] = Field(
        default="keep",
        description="What to do with a worker's repeats on a task; first and last by time, where times are known.",
    )
    multi_select: Literal["keep", "drop", "yes-no"] | None = Field(
        default=None,
        description="Labels of several classes: each combination a class (keep; default in tables), left out "
        "(drop; default in exports of tools), or each class a question of its own (yes-no).",
    )
    flagged: Literal["keep", "drop"] = Field(
        default="keep", description="Annotations that a tool marks as rejected or not trusted: keep, or leave out."
    )
    unmarked: Literal["keep", "drop"] | None = Field(
        default=None,
        description="Texts in which a worker marked no span: read as such (keep), or left out (drop; default for "
        "doccano, which also writes texts that a worker has not opened).",
    )
    valid_share: float = Field(default=0.0, ge=0, lt=1, description="Share of tasks to draw for validation.")
    test_share: float = Field(default=0.0, ge=0, lt=1, description="Share of tasks to draw for the test.")
    split_seed: int = Field(default=0, ge=0, description="Seed of that draw.")
    group: str | None = Field(default=None, description="Further column whose tasks stay in one split.")
    name: str | None = Field(default=None, description="What to call the dataset; default the file's name.")
    low: float | None = Field(default=None, allow_inf_nan=False, description="Lowest rating that can be given.")
    high: float | None = Field(default=None, allow_inf_nan=False, description="Highest rating that can be given.")
    levels: tuple[str, ...] | None = Field(
        default=None,
        min_length=2,
        description="Words that stand for the ratings, from low to high at equal steps; 1, 2, 3 … without a range.",
    )

    def __init__(self, **settings: Any) -> None:
        low = settings.get("low")
        if settings.get("kind") is None and any(settings.get(name) is not None for name in _OF_RATINGS):
            settings["kind"] = "ratings"
        if settings.get("missing") is None and isinstance(low, int | float) and low <= -1:
            settings["missing"] = ()  # -1 is a rating
        super().__init__(**settings)
        for name in _OF_CLASSES if self.kind == "ratings" else ():
            if getattr(self, name):
                raise SettingError(name, "be left out where labels are numbers", getattr(self, name))
        for name in _OF_RATINGS if self.kind == "classes" else ():
            if getattr(self, name) is not None:
                raise SettingError(name, "be left out where labels are classes", getattr(self, name))
        for name in ("classes", "levels"):
            names = getattr(self, name)
            if names is not None and len(set(names)) < len(names):
                raise SettingError(name, f"hold each {'class' if name == 'classes' else 'word'} once", names)
        if (self.low is None) != (self.high is None):
            raise SettingError("low" if self.low is None else "high", "be given with the other end", None)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise SettingError("low", f"be below `high`, {self.high:g}", self.low)


class RatingSettings(ReadSettings):
    """Reading options for labels that are numbers; those about classes do not apply."""

    kind: Literal["ratings"] = Field(default="ratings", description="What the labels are.")


_OF_CLASSES = ("classes", "merge_classes", "multi_select", "valid_share", "test_share")
_OF_RATINGS = ("low", "high", "levels")


class KindError(DataError, AttributeError):
    """Labels of one kind were given where another kind is needed."""


@dataclass(frozen=True)
class LabelKind:
    """A kind of label. The kinds are `CLASSES`, `TAGS`, `RATINGS` and `LEVELS`; `dataset.kind` is one of them.

    Args:
        name: for settings and files: ``classes``, ``tags``, ``ratings``, ``levels``.
        labels: noun for the labels, after "The labels of demo are …".
        label: noun for one annotation.
        task: noun for a task.
        value: attribute of the dataset that holds the labels.
        gold: noun for true labels.
        consensus: noun for the summary of a task's labels.
        settings: options that read them.
        numeric: labels are numbers in a range, and the dataset is a `RatingDataset`.
        sequential: tasks are the tokens of sentences.
        applies: sentence on features for such labels, for refusals of others.

    Examples:
        >>> import crowdcore as cc
        >>> cc.load_dataset("demo").kind.name
        'classes'
    """

    name: str
    labels: str
    label: str
    task: str
    value: str
    settings: type[ReadSettings]
    gold: str = "gold labels"
    consensus: str = "majority vote"
    numeric: bool = False
    sequential: bool = False
    applies: str = "Analyses, aggregators and training methods of classes apply."


_TO_NUMBERS = (
    "`crowdcore ratings`, the exhibits rating-…, `crowdcore.analysis.ratings`, `crowdcore.aggregation.ratings` and "
    "`crowdcore.learning.train` apply to numbers."
)
CLASSES = LabelKind("classes", "classes", "annotation", "task", "label", ReadSettings)
TAGS = LabelKind("tags", "tags of tokens", "annotation", "token", "label", ReadSettings, sequential=True)
RATINGS = LabelKind(
    *("ratings", "numbers", "rating", "task", "rating", RatingSettings, "gold", "mean ratings"),
    numeric=True,
    applies=_TO_NUMBERS,
)
LEVELS = replace(RATINGS, name="levels", labels="ordered classes, read as numbers")  # words at equal steps


def other_kind(dataset: Any, needed: LabelKind) -> KindError:
    """The error that labels are of another kind than needed; it names features for their kind."""
    return KindError(
        f"The labels of {dataset.name} are {dataset.kind.labels}, not {needed.labels}", dataset.kind.applies
    )


def need_classes(dataset: Labelled) -> CrowdDataset:
    """The dataset, whose labels must be classes or tags; else a `KindError`."""
    if dataset.kind.numeric:
        raise other_kind(dataset, CLASSES)
    return cast("CrowdDataset", dataset)


def need_ratings(dataset: Labelled) -> RatingDataset:
    """The dataset, whose labels must be numbers; else a `KindError`."""
    if not dataset.kind.numeric:
        raise other_kind(dataset, RATINGS)
    return cast("RatingDataset", dataset)
