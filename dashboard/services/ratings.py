"""Datasets whose labels are numbers: the named ones, and files that users bring along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.confined import run_confined
from dashboard.services._cache import upload_folder
from dashboard.services.kept_uploads import list_uploads

if TYPE_CHECKING:
    from crowdcore.data import RatingImport
    from crowdcore.data.validation.rating_values import RatingValues

__all__ = ["examine_ratings", "rating_datasets", "rating_values"]


def rating_datasets() -> dict[str, str]:
    """Name -> folder of the datasets whose labels are numbers, the uploads first."""
    from crowdcore.data import describe_datasets

    uploads = {u.dataset: str(upload_folder(u.dataset)) for u in list_uploads() if u.dataset and u.rated}
    return uploads | {info.name: str(info.folder) for info in describe_datasets() if info.kind == "ratings"}


@st.cache_resource(show_spinner="Reading the file …", max_entries=4)
def rating_values(
    path: str, mapping: tuple[tuple[str, Any], ...]
) -> RatingValues | tuple[tuple[str, ...], dict[str, str]]:
    """The labels of a stored file of ratings; or, where its columns do not say, the columns and the roles known.

    Raises:
        CrowdError: no table, or a damaged file.
    """
    from crowdcore.data import MappingError
    from crowdcore.data.validation.rating_values import rating_values

    how = {name: value for name, value in mapping if name not in ("kind", "low", "high", "levels")}
    try:
        return run_confined(rating_values, path, **how)
    except MappingError as question:
        return question.columns, question.roles


@st.cache_resource(show_spinner="Reading the ratings …", max_entries=4)
def examine_ratings(path: str, mapping: tuple[tuple[str, Any], ...] = ()) -> RatingImport:
    """What a folder or stored file holds.

    Raises:
        CrowdError: no ratings, or a damaged file.
    """
    from crowdcore.data import examine_ratings

    found: RatingImport = run_confined(examine_ratings, path, **dict(mapping))
    return found
