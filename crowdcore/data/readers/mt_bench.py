"""Judgments of MT-bench and its kin: a judge's score for a model's answer, with the judge's text beside it."""

from __future__ import annotations

from typing import Any, ClassVar

from crowdcore.data.readers._answers import Answers, records, text_of
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.settings import ReadSettings

_ALWAYS = {"question_id", "model", "judge", "judgment", "score"}


class MTBench(Reader):
    """The task is a model's answer to a question (and turn), the worker the judge, the label the score."""

    name: ClassVar[str] = "mt-bench"
    title: ClassVar[str] = "MT-bench (judgments)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are a question, a model, a judge, the judgment's text and a score."""
        return 0.9 if source.table is not None and set(source.table.columns) >= _ALWAYS else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the scores; -1 means that the judge's text has none."""
        source.need_table(*_ALWAYS)
        answers = Answers(source, settings, {"task": "question_id, model", "worker": "judge", "label": "score"})
        for number, record in enumerate(records(source), 1):
            parts = [text_of(record.get(name)) for name in ("question_id", "model", "turn")]
            task = " / ".join(part for part in parts if part)
            judge = _judge(record.get("judge"))
            score = text_of(record.get("score"))
            if not score or score in ("-1", "-1.0"):
                answers.leave_out("no-score", number, judge)
                continue
            answers.list_task(task, text=text_of(record.get("user_prompt")))
            answers.add(number, task, judge, [score], when=record.get("tstamp"))
        return answers.raw(self.name)


def _judge(value: Any) -> str | None:
    """A name, or a name with its prompt."""
    if isinstance(value, list):
        return " / ".join(part for entry in value if (part := text_of(entry))) or None
    return text_of(value)
