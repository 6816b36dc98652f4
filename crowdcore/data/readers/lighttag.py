"""LightTag's JSON: examples with the classes that each annotator gave them."""

from __future__ import annotations

from typing import Any, ClassVar

from crowdcore.core.errors import DataError
from crowdcore.data.readers._answers import Answers, as_list, media_of, need_records, text_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings


class LightTag(Reader):
    """``examples``, each with ``classifications`` (``classname``, ``classified_by``) and ``seen_by``; no tags."""

    name: ClassVar[str] = "lighttag"
    title: ClassVar[str] = "LightTag (JSON)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """One document with ``examples``."""
        examples = as_list(source.first.get("examples"))
        return 0.9 if examples and isinstance(examples[0], dict) and "example_id" in examples[0] else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the classifications; who has seen an example and gave it no class is reported."""
        source.need_json()
        answers = Answers(source, settings, {"task": "example_id", "worker": "annotator", "label": "classname"})
        for example_number, example in enumerate(as_list(source.first.get("examples")), 1):
            if not isinstance(example, dict):
                raise DataError("This example is not a record", file=source.path, row=example_number)
            task = answers.task_name(example.get("example_id"), example_number)
            answers.list_task(task, **media_of({"text": example.get("content")}))
            given: dict[str, list[Any]] = {}
            when: dict[str, Any] = {}
            for testament in need_records(example, "seen_by", source, example_number):
                given[_who(testament)] = []
            for entry in need_records(example, "classifications", source, example_number):
                by = "classified_by" if "classified_by" in entry else "annotated_by"
                for testament in need_records(entry, by, source, example_number):
                    given.setdefault(_who(testament), []).append(entry.get("classname"))
                    when[_who(testament)] = testament.get("timestamp")
            for tag in need_records(example, "annotations", source, example_number):
                for _ in need_records(tag, "annotated_by", source, example_number):
                    answers.leave_out("region", example_number)
            for who, names in given.items():
                answers.add(example_number, task, who or None, names, when=when.get(who))
        return answers.raw(self.name)


def _who(testament: dict[str, Any]) -> str:
    """The annotator's name or number, empty for nobody."""
    return text_of(testament.get("annotator")) or text_of(testament.get("annotator_id")) or ""
