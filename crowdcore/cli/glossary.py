"""`crowdcore glossary`: what the columns of the tables mean."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._options import Json
from crowdcore.cli._output import print_json, print_table


def glossary(
    word: Annotated[str, typer.Argument(help="Only columns with this in their name or meaning.")] = "",
    json: Json = False,
) -> None:
    """What each column of a table means, in a sentence."""
    from crowdcore.exhibits.glossary import glossary as every

    table = every().table
    found = table[(table["column"] + " " + table["meaning"]).str.contains(word, case=False, regex=False)]
    print_json(found) if json else print_table(found, "Glossary", limit=len(found), wrapped=("meaning",))
