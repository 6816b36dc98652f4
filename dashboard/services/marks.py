"""Marking tasks, in the name of whoever is signed in."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crowdcore.marks import Mark, add_mark, current_marks, undo_mark
from crowdcore.taken_marks import TakenMarks, marks_of_file
from dashboard.services.kept_uploads import owner
from dashboard.services.opening import dataset


def mark(name: str, task: str, truth: str | None, worker: str = "", comment: str = "") -> None:
    """Keep a mark; this session can take it back."""
    made = add_mark(dataset(name), task, truth, worker=worker, comment=comment, by=owner())
    _own(name).append(made.id)


def marks_file(name: str, file: str, content: bytes) -> TakenMarks:
    """Marks of an uploaded CSV; whoever uploads it has marked where the file does not say who."""
    found = marks_of_file(dataset(name), file, content)
    return replace(found, marks=tuple(replace(mark, by=mark.by or owner()) for mark in found.marks))


def take_back(name: str, id: str) -> Mark:
    """Take one mark back."""
    return undo_mark(dataset(name), id, by=owner())


def taken_back_last(name: str) -> Mark | None:
    """Take back the last mark of this session that still stands."""
    kept = {mark.id for mark in current_marks(dataset(name)).values()}
    while own := _own(name):
        if (last := own.pop()) in kept:
            return take_back(name, last)
    return None


def _own(name: str) -> list[str]:
    return st.session_state.setdefault("marks-made", {}).setdefault(name, [])  # type: ignore[no-any-return]
