"""Confusion matrices of imagined workers: (C, C) float64, row = true class, column = given label."""

from __future__ import annotations

import numpy as np

from crowdcore.core.types import FloatArray, IntArray


def flip(target: IntArray, strength: float) -> FloatArray:
    """Each class is given its ``target`` (C,) with probability ``strength``; a class that targets itself is never."""
    n_classes = len(target)
    confusion = np.eye(n_classes) * (1 - strength)
    confusion[np.arange(n_classes), target] += strength
    return confusion


def other_class(n_classes: int, rng: np.random.Generator) -> IntArray:
    """(C,) for every class another one, uniformly chosen (asymmetric confusion; two classes may share a target)."""
    return np.asarray((np.arange(n_classes) + rng.integers(1, max(n_classes, 2), n_classes)) % n_classes)


def paired_class(n_classes: int, rng: np.random.Generator) -> IntArray:
    """(C,) partners of randomly paired classes (symmetric confusion); with odd C one class is its own partner."""
    order = rng.permutation(n_classes)
    even = n_classes - n_classes % 2
    target = np.arange(n_classes)
    target[order[:even:2]], target[order[1:even:2]] = order[1:even:2], order[:even:2]
    return target


def next_class(n_classes: int) -> IntArray:
    """(C,) the class after each, the last one's being the first."""
    return np.roll(np.arange(n_classes), -1)


def symmetrical(n_classes: int, epsilon: float) -> FloatArray:
    """Right with probability 1 - ε, else uniformly one of the other classes."""
    confusion = np.full((n_classes, n_classes), epsilon / (n_classes - 1))
    np.fill_diagonal(confusion, 1 - epsilon)
    return confusion


def hammer_spammer(n_classes: int, skill: float) -> FloatArray:
    """Right with probability ``skill``, else uniformly any class, the right one included."""
    return skill * np.eye(n_classes) + (1 - skill) / n_classes


def class_wise(n_classes: int, known: tuple[int, ...]) -> FloatArray:
    """Always right on the ``known`` classes, uniform on all others."""
    confusion = np.full((n_classes, n_classes), 1.0 / n_classes)
    confusion[list(known)] = np.eye(n_classes)[list(known)]
    return confusion
