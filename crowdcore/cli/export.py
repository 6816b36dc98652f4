"""`crowdcore export`: write a dataset in another format, with features made from its texts or images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, HideNames, Json, Read, open_dataset
from crowdcore.cli._output import print_json
from crowdcore.core.errors import SettingError

_KINDS = ("tfidf", "vgg16")


def export(
    dataset: DatasetName,
    target: Annotated[Path, typer.Argument(help="A folder (our format), or a .csv or .parquet file (long table).")],
    features: Annotated[
        str | None,
        typer.Option(help="Make features: tfidf (of texts), or vgg16 (of images, pretrained on ImageNet)."),
    ] = None,
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Write a dataset as a folder in our format, or its annotations as one long table.

    With --features tfidf the folder also holds text_features.npz, which makes the same features from new texts.
    """
    from crowdcore.data.pseudonyms import hide_names as without_names, in_order
    from crowdcore.data.writers import write_folder, write_long

    is_table = target.suffix in {".csv", ".parquet"}
    if features is not None and (features not in _KINDS or is_table):
        raise SettingError("--features", f"be {' or '.join(_KINDS)}, for a folder", features)
    ds = open_dataset(dataset, accept, read)
    ds = in_order(without_names(ds)) if hide_names else ds
    seen = None
    if features == "tfidf":
        from crowdcore.learning.networks.texts import text_features

        ds, seen = text_features(ds)
    elif features == "vgg16":
        from crowdcore.learning.networks.pretrained import vgg16_features

        ds = vgg16_features(ds)
    if is_table:
        write_long(ds, target)
    else:
        write_folder(ds, target)
    if seen is not None:
        seen.save(target / "text_features.npz")
    facts = {"dataset": ds.name, "written": str(target), "annotations": ds.n_annotations, "tasks": ds.n_tasks}
    print_json(facts) if json else print(f"{ds.name}: {ds.n_annotations} annotations on {ds.n_tasks} tasks -> {target}")
