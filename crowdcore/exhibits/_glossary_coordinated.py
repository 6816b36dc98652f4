"""Columns of the table of coordinated workers and what they mean."""

from __future__ import annotations

COORDINATED = {
    "size": "How many workers the group has.",
    "found by": "Which tests found the group.",
    "shared tasks": "Tasks that two or more of the group labelled.",
    "pushes": "Mistakes that the group makes together, and on how many tasks of the class a member gave the label.",
    "become right": "Labels of the majority vote that are wrong with the group and right without it.",
    "become wrong": "Labels of the majority vote that are right with the group and wrong without it.",
    "largest row change": "Largest share of a row of the common confusion that moves when the group is left out.",
    "mean row change": "The same share, mean over the classes.",
    "cell that changes most": "The cell of the common confusion that changes most when the group is left out.",
    "share with": "The cell of the common confusion with the group's labels.",
    "share without": "The same cell without them.",
}
