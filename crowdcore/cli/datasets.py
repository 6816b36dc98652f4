"""`crowdcore datasets`: what is here to be opened."""

from __future__ import annotations

import pandas as pd

from crowdcore.cli._options import Json
from crowdcore.cli._output import print_json, print_table
from crowdcore.data.catalogue import dataset_folders


def datasets(json: Json = False) -> None:
    """List the datasets found in CROWDCORE_DATA, the embedded data and the cache."""
    frame = pd.DataFrame(
        [{"name": name, "folder": str(folder)} for name, folder in dataset_folders().items()],
        columns=["name", "folder"],
    )
    print_json(frame) if json else print_table(frame, "Datasets")
