"""What people put on runs: a name, a note, tags; kept where MLflow shows them too."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from crowdcore.core.errors import SettingError
from crowdcore.runs.run import NAME, NOTE, TAG, default_name
from crowdcore.runs.store import get_run, set_tag
from crowdcore.runs.workspace import Workspace

_NAME, _NOTE, _TAG = 120, 4000, 40  # characters at most


def rename(run_id: str, name: str, *, workspace: Workspace | None = None) -> None:
    """Call a run something; an empty name gives back the one it came with.

    Raises:
        DataError: there is no run of that id.
        SettingError: the name is too long, or more than one line.
    """
    workspace = workspace or Workspace.open()
    run = get_run(run_id, workspace=workspace)
    set_tag(run.id, NAME, _line("name", name, _NAME) or default_name(run.spec), workspace)


def set_note(run_id: str, note: str, *, workspace: Workspace | None = None) -> None:
    """Write something about a run, in place of what was written before; an empty note takes it away.

    Raises:
        DataError: there is no run of that id.
        SettingError: the note is too long.
    """
    workspace = workspace or Workspace.open()
    if len(note.strip()) > _NOTE:
        raise SettingError("note", f"have at most {_NOTE:,} characters", f"{len(note):,}")
    set_tag(get_run(run_id, workspace=workspace).id, NOTE, note.strip(), workspace)


def change_tags(
    run_ids: Iterable[str],
    add: Collection[str] = (),
    remove: Collection[str] = (),
    *,
    workspace: Workspace | None = None,
) -> None:
    """Put tags on runs and take others away; what a run has already, or lacks, is no fault.

    Raises:
        DataError: there is no run of one of these ids (nothing is changed then).
        SettingError: a tag is too long, or holds a comma.
    """
    workspace = workspace or Workspace.open()
    added = [_tag(word) for word in add]
    removed = {word.strip() for word in remove}
    for run in [get_run(run_id, workspace=workspace) for run_id in dict.fromkeys(run_ids)]:
        words = [word for word in dict.fromkeys([*run.tags, *added]) if word not in removed]
        if tuple(words) != run.tags:
            set_tag(run.id, f"{TAG}tags", ", ".join(words), workspace)


def _tag(word: str) -> str:
    if "," in word or not word.strip():
        raise SettingError("tag", "be a word or some, without a comma", word)
    return _line("tag", word, _TAG)


def _line(what: str, text: str, most: int) -> str:
    text = text.strip()
    if len(text) > most or not text.isprintable():
        raise SettingError(what, f"be one line of at most {most} characters", text[: most + 1])
    return text
