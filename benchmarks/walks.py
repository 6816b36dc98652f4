"""Number of our own files and functions that a user's step runs through, counted by `sys.setprofile`.

``python -m benchmarks.walks [--names]`` prints one row for each step: a plain CSV to a dataset, that dataset to its
shared mistakes and their figure, ``crowdcore aggregate demo --out``, and another cell clicked on the page Mistakes.
Each step is taken twice and the second time counts, so that imports do not. Comprehensions belong to their function.
``--names`` lists the files and functions of each step.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import FrameType

import crowdcore as cc

ROOT = Path(__file__).resolve().parents[1]
OURS = tuple(f"{ROOT / name}{os.sep}" for name in ("crowdcore", "dashboard"))
NAMES = "--names" in sys.argv  # read before commands replace the arguments
TARGETS = {"CSV to dataset": 25, "to figure, in all": 40, "aggregate": 45, "click": 30}  # files

Walk = dict[str, set[str]]


def walk(step: Callable[[], object]) -> Walk:
    """File -> functions of ours that a step calls, in this thread and in those that it starts."""
    visited: Walk = defaultdict(set)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and code.co_name[0] != "<":
            visited[os.path.relpath(code.co_filename, ROOT)].add(code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return visited


def second(step: Callable[[], object]) -> Walk:
    """The walk of a step taken for the second time."""
    step()
    return walk(step)


def write_votes(file: Path) -> None:
    """A plain table of 200 votes by four workers, one in seven of them wrong."""
    animals = ("cat", "dog")
    votes = [
        f"{task},w{worker},{animals[(task + ((task + worker) % 7 == 0)) % 2]},{animals[task % 2]}"
        for task in range(50)
        for worker in range(4)
    ]
    file.write_text("\n".join(["task,worker,label,gold", *votes]) + "\n", encoding="utf-8")


def figure(dataset: cc.CrowdDataset) -> object:
    """The figure of a dataset's shared mistakes."""
    return cc.figures.shared_mistakes(cc.analysis.shared_mistakes(dataset))


def command(*words: str) -> Callable[[], None]:
    """Return a function that runs a command in this process, its output dropped."""
    from crowdcore.cli import main

    def run() -> None:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
            sys.argv = ["crowdcore", *words]
            main()

    return run


def click() -> Walk:
    """Another cell of the demo's shared mistakes, chosen on the page."""
    from streamlit.testing.v1 import AppTest

    logging.disable(logging.WARNING)
    page = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120).run()
    page.switch_page("views/mistakes.py")
    for true, given in (("8", "1"), ("9", "3"), ("8", "1")):
        page.query_params.update({"dataset": "demo", "true": true, "given": given})
        page.run()
    page.query_params.update({"true": "9", "given": "3"})
    return walk(page.run)


def show(name: str, walk: Walk, target: int | None = None) -> None:
    files, functions = len(walk), sum(map(len, walk.values()))
    print(f"| {name} | {files} | {functions} | {'' if target is None else target} |", flush=True)
    if NAMES:
        for file, names in sorted(walk.items()):
            print(f"    {file}: {', '.join(sorted(names))}")


def main() -> int:
    print("| step | files | functions | aim, files |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "votes.csv"), Path(folder, "labels.csv")
        write_votes(file)
        reading = second(lambda: cc.read_dataset(file))
        show("CSV to dataset", reading, TARGETS["CSV to dataset"])
        dataset = cc.read_dataset(file)
        drawing = second(lambda: figure(dataset))
        show("dataset to figure", drawing)
        show("CSV to figure", {**reading, **drawing}, TARGETS["to figure, in all"])
        os.environ["CROWDCORE_WORKSPACE"] = folder
        show("aggregate demo --out", second(command("aggregate", "demo", "--out", str(out))), TARGETS["aggregate"])
        show("another cell", click(), TARGETS["click"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
