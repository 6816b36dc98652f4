"""The losses of methods that peers offer, transcribed like those of `oracle`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from tests.learning.methods.oracle import Array, State, sigmoid, softmax, softplus, stochastic


def max_mig(s: State) -> float:
    prior = np.exp(s["log_prior"])
    h = np.array([s.p(i) for i in range(s.n)])
    g = np.array([s["bias"].copy() for _ in range(s.n)])
    for i, r, y in s.annotations:
        g[i] += s["weight"][r][:, y]
    g = np.array([softmax(row) for row in g])
    k = np.array([[np.sum(h[i] * g[j] / prior) for j in range(s.n)] for i in range(s.n)])
    others = [k[i, j] for i in range(s.n) for j in range(s.n) if i != j]
    return -(1 + np.mean(np.log(np.diag(k)))) + np.mean(others)


def unionnet(s: State, variant: str) -> float:
    n_workers, n_classes, _ = s["weight"].shape
    stacked = np.concatenate([s["weight"][r] for r in range(n_workers)], 1)
    total = 0.0
    for i, r, y in s.annotations:
        if variant == "a":
            u = softmax(s.p(i) @ stacked)
        else:
            u = s.p(i) @ np.array([softmax(stacked[c]) for c in range(n_classes)])
        total -= np.log(u[r * n_classes + y])
    return total / s.n


def geocrowdnet(s: State, volume: str) -> float:
    pi = stochastic(s["logits"])
    n_workers, n_classes, _ = pi.shape
    nll = [-np.log((s.p(i) @ pi[r])[y]) for i, r, y in s.annotations]
    if volume == "f":
        gram = sum(np.outer(s.p(i), s.p(i)) for i in range(s.n)) / s.n
    else:
        gram = sum(pi[r] @ pi[r].T for r in range(n_workers)) / n_workers
    return np.mean(nll) - float(s["strength"]) * np.log(np.linalg.det(gram + 1e-4 * np.eye(n_classes)))


def posterior_cross_entropy(s: State) -> float:
    return -np.mean([s["q"][i] @ np.log(s.p(i)) for i in range(s.n)])


def head(s: State, i: int, r: int) -> Array:
    net = "classifier.network."
    hidden = np.maximum(s.x[i] @ s[net + "hidden.weight"] + s[net + "hidden.bias"], 0)
    logits = hidden @ s[net + "output.weight"] + s[net + "output.bias"]
    return softmax(logits.reshape(len(s["classifier.weight"]), -1)[r])


def doctor_net(s: State) -> float:
    return -np.mean([np.log(head(s, i, r)[y]) for i, r, y in s.annotations])


def mixing(s: State, present: Any = None) -> float:
    w, total = softmax(s["classifier.weight"]), 0.0
    present = range(len(w)) if present is None else present
    for i, _, y in s.annotations:
        own = {r for j, r, _ in s.annotations if j == i}
        others = [r for r in present if r not in own]
        total -= np.log(sum(w[r] * head(s, i, r)[y] for r in others) / sum(w[r] for r in others))
    return total / len(s.annotations)


def crowdlab(s: State, labels: Any, n_workers: int) -> tuple[Array, Array]:
    """The ensemble (n, C) and the workers' weights."""
    p = np.array([s.p(i) for i in range(s.n)])
    of_task = [[(r, y) for i, r, y in labels if i == j] for j in range(s.n)]
    consensus = []
    for i, given in enumerate(of_task):
        votes = [sum(y == c for _, y in given) for c in range(p.shape[1])]
        consensus.append(max(range(len(votes)), key=lambda c: (votes[c], p[i][c])))
    several = [i for i in range(s.n) if len(of_task[i]) > 1]
    right = np.mean([np.mean([y == consensus[i] for _, y in of_task[i]]) for i in several])
    commonest = np.bincount(consensus).argmax()
    chance = 1 - np.mean([consensus[i] == commonest for i in several])
    weight = np.empty(n_workers)
    for r in range(n_workers):
        pairs = [y == z for i in several for q, y in of_task[i] for t, z in of_task[i] if q == r and t != r]
        weight[r] = max(1 - (1 - np.mean(pairs)) / chance, 1e-6)
    own = max(1 - (1 - np.mean([p[i].argmax() == consensus[i] for i in several])) / chance, 1e-6)
    own *= np.sqrt(np.mean([len(given) for given in of_task]))
    q = own * p
    for i, given in enumerate(of_task):
        for r, y in given:
            q[i] += weight[r] * np.array(
                [right if c == y else (1 - right) / (p.shape[1] - 1) for c in range(p.shape[1])]
            )
    return q / q.sum(1, keepdims=True), weight


def crowdar(s: State) -> float:
    total, trust = 0.0, float(s["trust"])
    for i, r, y in s.annotations:
        p = s.p(i)
        hidden = sigmoid(s.x[i] @ s["difficulty.0.weight"] + s["difficulty.0.bias"])
        difficulty = sigmoid(hidden @ s["difficulty.2.weight"] + s["difficulty.2.bias"])
        m = sigmoid(softplus(s["slope"]) @ ((sigmoid(s["expertise"][r]) - difficulty) * p) + float(s["offset"]))
        target = np.full(len(p), (1 - m) / len(p))
        target[y] += m
        total -= trust * target @ np.log(softmax(p @ s["matrices.weight"][r]))
        total -= (1 - trust) * np.log(m if p.argmax() == y else 1 - m)
    return total / len(s.annotations)


def task_confusion(s: State, x: Array, e: Array) -> Array:
    net = "confusion."
    v = ((x - s[net + "centre"]) * s[net + "scale"]) @ s[net + "task.weight"] + s[net + "task.bias"]
    inner = np.concatenate([e, v, e * v]) @ s[net + "inner.weight"] + s[net + "inner.bias"]
    h = np.maximum(e + np.maximum(inner, 0) @ s[net + "outer.weight"] + s[net + "outer.bias"], 0)
    logits = s[net + "bias"] + sum(h[q] * s[net + "output"][q] for q in range(len(h)))
    return np.array([softmax(row) for row in logits])


def madl(s: State, embeddings: Array | None = None) -> float:
    e, gamma = s["confusion.worker"], float(s["bandwidth"])
    fixed = e if embeddings is None else embeddings
    density = [sum(np.exp(-gamma * np.sum((a - b) ** 2)) for b in fixed) for a in fixed]
    w = 1 / np.array(density)
    w *= len(e) / w.sum()
    nll = [-w[r] * np.log((s.p(i) @ task_confusion(s, s.x[i], e[r]))[y]) for i, r, y in s.annotations]
    return np.mean(nll) - gamma_log_density(gamma)


def gamma_log_density(x: float) -> float:
    return stats.gamma.logpdf(x, 1.25, scale=1 / 0.25)


def annot_mix(s: State) -> float:
    e = s["confusion.worker"]
    return -np.mean([np.log((s.p(i) @ task_confusion(s, s.x[i], e[r]))[y]) for i, r, y in s.annotations])


def coinnet(s: State) -> float:
    pi, nll, energy = stochastic(s["logits"]), [], np.zeros(s.n)
    for a, (i, r, y) in enumerate(s.annotations):
        e = s["outlier"][a] - s["outlier"][a].mean()
        u = np.clip(s.p(i) @ pi[r] + e, 1e-10, 1 - 1e-10)
        nll.append(-np.log(u[y] / u.sum()))
        energy[i] += e @ e
    gram = sum(np.outer(s.p(i), s.p(i)) for i in range(s.n)) / s.n
    volume = np.log(np.linalg.det(gram + 1e-4 * np.eye(pi.shape[1])))
    return np.mean(nll) - float(s["strength"]) * volume + float(s["sparsity"]) * np.mean((energy + 1e-10) ** 0.2)
