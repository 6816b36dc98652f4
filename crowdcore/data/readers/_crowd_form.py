"""Answers to a form of Crowd HTML Elements, which Mechanical Turk and SageMaker Ground Truth share."""

from __future__ import annotations

from typing import Any

from crowdcore.data.readers._answers import text_of

_BUTTONS = "buttons"  # the question of all buttons with names of their own


def chosen(content: Any) -> dict[str, list[str]]:
    """Question -> chosen options; what is no choice (boxes, entities, polygons) is left away.

    A classifier answers ``{"label": "cat"}``, one for several classes ``{"labels": ["cat", "dog"]}``, buttons of one
    name ``{"cat": true, "dog": false}``, other inputs a text. Buttons with names of their own (``{"cat": {"on": true},
    "dog": {"on": false}}``: radio buttons of a group, or checkboxes) are a question of yes and no each, and together
    the question ``buttons``: the form does not say which belong together.

    Examples:
        >>> chosen({"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}})
        {'animal': ['cat'], 'sure': ['yes']}
        >>> chosen({"cat": {"on": True}, "dog": {"on": False}})
        {'cat': ['true'], 'dog': ['false'], 'buttons': ['cat']}
    """
    found: dict[str, list[str]] = {}
    buttons: dict[str, bool] = {}
    for question, answer in content.items() if isinstance(content, dict) else ():
        options = _options(answer)
        if options is not None:
            found[str(question)] = [name for option in options if (name := text_of(option))]
        if _are_buttons(answer) and len(answer) == 1:
            (buttons[str(question)],) = answer.values()
            found[str(question)] = [str(buttons[str(question)]).lower()]
    if len(buttons) > 1:
        found.setdefault(_BUTTONS, [name for name, pressed in buttons.items() if pressed])
    return found


def _are_buttons(answer: Any) -> bool:
    return isinstance(answer, dict) and bool(answer) and all(isinstance(pressed, bool) for pressed in answer.values())


def _options(answer: Any) -> list[Any] | None:
    if not isinstance(answer, dict | list):
        return [answer]
    if isinstance(answer, dict) and set(answer) & {"label", "labels"}:
        answer = answer.get("labels", answer.get("label"))
        answer = answer if isinstance(answer, list) else [answer]
    elif isinstance(answer, dict):
        return [name for name, pressed in answer.items() if pressed] if _are_buttons(answer) else None
    return None if any(isinstance(option, dict | list) for option in answer) else answer
