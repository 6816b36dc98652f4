"""brat's annotations: a folder for each worker, in it an ``.ann`` file of spans for each text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import Span
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

_SPAN = re.compile(r"^T\d+\t(\S+) (\d+) (?:\d+;\d+ )*(\d+)\t(.*)$", re.MULTILINE)


class Brat(Reader):
    """``WORKER/TEXT.ann`` beside ``WORKER/TEXT.txt``, or below ``TEXT.txt``; several parts of a span are one."""

    name: ClassVar[str] = "brat"
    title: ClassVar[str] = "brat (a folder of .ann files for each worker)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are ``.ann`` files."""
        return 0.9 if source.inside("**/*.ann") else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the spans of every worker."""
        files, folder = source.inside("**/*.ann"), source.folder
        if folder is None or len({file.parent for file in files}) < 2:
            what = "brat's files do not say who marked them"
            raise DataError(what, "Give a folder that holds a folder for each worker.", file=source.path)
        answers = MarkedTexts(source, settings, {"task": "text", "worker": "folder", "label": "spans"})
        for number, file in enumerate(files, 1):
            texts = (parent / f"{file.stem}.txt" for parent in file.parents if parent.is_relative_to(folder))
            text = next((found for found in texts if found.is_file()), None)
            if text is None:
                raise DataError("The text beside this file is not there", "Give the .txt files, too.", file=file)
            found = _SPAN.findall(_read(file))
            spans = [Span(int(start), int(end), label, words) for label, start, end, words in found]
            answers.mark(number, file.stem, file.parent.name, _read(text), spans)
        return answers.raw(self.name)


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace")  # line ends count as they are
