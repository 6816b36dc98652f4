"""Copy the tables of `crowdcore reproduce` into benchmarks/results/reproduction.md, so that no number is typed.

    crowdcore reproduce ID … --scale small --out reproduction
    python -m benchmarks.reproduction_page [FOLDER]

Sections of the page with a table in FOLDER (reproduction/small) are replaced; the others, and the text around them,
stay.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "results" / "reproduction.md"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "reproduction/small")
    for file in sorted(folder.glob("*.md")):
        section = file.read_text(encoding="utf-8")
        place = re.search(rf"^## {file.stem}: .*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        if place:
            page = f"{page[: place.start()]}{section}\n{page[place.end() :]}"
        print(f"{file.stem}: {'replaced' if place else 'the page has no such section'}")
    PAGE.write_text(page.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
