"""Answers to a form of Crowd HTML Elements, which Mechanical Turk and SageMaker Ground Truth share."""

from __future__ import annotations

from typing import Any

from crowdcore.data.readers._answers import text_of

__all__ = ["chosen"]


def chosen(content: Any) -> dict[str, list[str]]:
    """Question -> chosen options; what is no choice (boxes, entities, polygons) is left away.

    A classifier answers ``{"label": "cat"}``, one for several classes ``{"labels": ["cat", "dog"]}``, radio buttons
    ``{"cat": true, "dog": false}``, other inputs a text.

    Examples:
        >>> chosen({"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}})
        {'animal': ['cat'], 'sure': ['yes']}
    """
    found: dict[str, list[str]] = {}
    for question, answer in content.items() if isinstance(content, dict) else ():
        options = _options(answer)
        if options is not None:
            found[str(question)] = [name for option in options if (name := text_of(option))]
    return found


def _options(answer: Any) -> list[Any] | None:
    if not isinstance(answer, dict | list):
        return [answer]
    if isinstance(answer, dict) and set(answer) & {"label", "labels"}:
        answer = answer.get("labels", answer.get("label"))
        answer = answer if isinstance(answer, list) else [answer]
    elif isinstance(answer, dict):
        buttons = bool(answer) and all(isinstance(pressed, bool) for pressed in answer.values())
        return [name for name, pressed in answer.items() if pressed] if buttons else None
    return None if any(isinstance(option, dict | list) for option in answer) else answer
