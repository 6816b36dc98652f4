"""`crowdcore embed`: features from a dataset's texts or images, or embeddings of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, Device, Json, Read, open_dataset
from crowdcore.cli._output import print_json
from crowdcore.data.images import SIDE

__all__ = ["embed"]


def embed(
    dataset: DatasetName,
    target: Annotated[
        Path | None, typer.Argument(help="A folder for the dataset with features; without it: what it would take.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="tfidf or sentences (of texts), vgg16 (of images, pretrained), pixels (for a network from scratch), "
            "given; auto: tfidf, or vgg16 where its weights are here, else pixels."
        ),
    ] = "auto",
    given: Annotated[
        str, typer.Option(help="Embeddings of your own: a .npy file in the order of tasks, or a further column.")
    ] = "",
    model: Annotated[
        str, typer.Option(help="For sentences: a model of sentence-transformers that is here; default: the first.")
    ] = "",
    side: Annotated[
        int | None, typer.Option(help=f"For pixels: of a side; default: as the first image has, {SIDE} at most.")
    ] = None,
    allow_urls: Annotated[bool, typer.Option("--allow-urls", help="Fetch images that are addresses.")] = False,
    device: Device = "auto",
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Write a dataset with what a classifier can look at: features of its texts or images, or their pixels.

    Texts that are empty, and images that cannot be used, are named; --accept leaves their tasks out. With tfidf the
    folder also holds text_features.npz, which makes the same features from new texts.
    """
    from crowdcore.data.writers import write_folder
    from crowdcore.learning import embedding

    ds = open_dataset(dataset, accept, read)
    if target is None:
        kind = kind if kind != "auto" else "given" if given else embedding.usual_kind(ds)
        kinds = embedding.kinds_of(ds)
        seconds = embedding.estimate_seconds(
            ds, kind, given=given, model=model, side=side, allow_urls=allow_urls, device=device
        )
        facts = {"dataset": ds.name, "tasks": ds.n_tasks, "kind": kind, "kinds": kinds, "seconds": seconds}
        how_long = "" if seconds is None else f", about {max(1, round(seconds)):,} s"
        print_json(facts) if json else print(f"{ds.name}: {embedding.KINDS[kind]}, {ds.n_tasks} tasks{how_long}")
        return
    found = embedding.embed(
        ds, kind, given=given, model=model, side=side, accept=accept, allow_urls=allow_urls, device=device
    )
    made = found.dataset
    write_folder(made, target)
    if found.texts is not None:
        found.texts.save(target / "text_features.npz")
    facts = {"dataset": made.name, "written": str(target), "tasks": made.n_tasks, "kind": found.kind}
    notes = [note for note in made.notes if note.startswith("Left out:")]
    if json:
        print_json(facts | {"notes": notes})
        return
    print(f"{made.name}: {embedding.KINDS[found.kind]}, {made.n_tasks} tasks -> {target}")
    for note in notes:
        print(note)
