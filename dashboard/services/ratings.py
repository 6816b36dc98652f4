"""Datasets whose labels are numbers: the named ones, and files that users bring along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.confined import run_confined

if TYPE_CHECKING:
    from crowdcore.data import RatingImport

__all__ = ["examine_ratings", "rating_datasets"]


def rating_datasets() -> dict[str, str]:
    """Name -> folder of the datasets whose labels are numbers."""
    from crowdcore.data import describe_datasets

    return {info.name: str(info.folder) for info in describe_datasets() if info.kind == "ratings"}


@st.cache_resource(show_spinner="Reading the ratings …", max_entries=4)
def examine_ratings(path: str, mapping: tuple[tuple[str, Any], ...] = ()) -> RatingImport:
    """What a folder or stored file holds.

    Raises:
        CrowdError: no ratings, or a damaged file.
    """
    from crowdcore.data import examine_ratings

    found: RatingImport = run_confined(examine_ratings, path, **dict(mapping))
    return found
