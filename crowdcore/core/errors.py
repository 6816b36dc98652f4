"""One phrasing for every refusal: which argument, which value, and what would be right."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CrowdError", "DataError", "MissingExtraError", "SettingError", "need_extra"]


class CrowdError(ValueError):
    """A refusal in one clear sentence; the CLI prints it and exits with 2, the app shows it in place."""


class SettingError(CrowdError):
    """An argument or a setting that cannot be: "`n_classes` must be at least 2, but got 1. Remedy."."""

    def __init__(self, argument: str, must: str, got: object, remedy: str = "") -> None:
        self.argument, self.got = argument, got
        super().__init__(f"`{argument}` must {must}, but got {got!r}. {remedy}".rstrip())


class DataError(CrowdError):
    """Something wrong in a file or table: says what, where (file, row, column) and what would be right.

    Args:
        what: the fault, one sentence without its full stop.
        remedy: what would be right, one sentence.
        file: the file at fault.
        row: 1-based row of the data (a CSV's header is row 0 of that count), if one row is at fault.
        column: the column at fault.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        file: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.file, self.row, self.column = file, row, column
        place = [
            *([Path(file).name] if file is not None else []),
            *([f"row {row}"] if row is not None else []),
            *([f"column {column!r}"] if column is not None else []),
        ]
        where = f" ({', '.join(place)})" if place else ""
        super().__init__(f"{what}{where}. {remedy}".rstrip())


class MissingExtraError(CrowdError):
    """A feature whose optional dependency is not installed."""


def need_extra(package: str, extra: str, feature: str) -> MissingExtraError:
    """Phrase the refusal for a missing optional dependency."""
    return MissingExtraError(
        f"{feature} needs the package {package!r}, which is not installed. "
        f"Install it with: pip install 'crowdcore[{extra}]'"
    )
