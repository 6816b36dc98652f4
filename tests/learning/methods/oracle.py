"""The methods' losses transcribed from the equations: loops over annotations, float64, nothing shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = Any


def softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x))
    return e / e.sum()


def normalise(x: Array) -> Array:
    return x / np.linalg.norm(x)


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


class State:
    """A module's tensors by name, as float64 NumPy arrays, and the batch's annotations as a list."""

    def __init__(self, module: Any, batch: Any) -> None:
        self.tensors = {k: v.detach().numpy() for k, v in [*module.named_parameters(), *module.named_buffers()]}
        self.x = batch.features.numpy()
        self.target = None if batch.target is None else batch.target.numpy()
        if "target" in self.tensors:  # each replica's own
            self.target = self.tensors["target"][batch.task.numpy()]
        self.annotations = list(zip(batch.row.tolist(), batch.worker.tolist(), batch.label.tolist(), strict=True))

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name]

    def p(self, i: int, network: str = "classifier.network") -> Array:
        """softmax(f(x_i)) of a network with one hidden layer, without dropout."""
        beside = network if f"{network}.hidden.weight" in self.tensors else "classifier"
        hidden = np.maximum(self.x[i] @ self[f"{beside}.hidden.weight"] + self[f"{beside}.hidden.bias"], 0)
        return softmax(hidden @ self[f"{beside}.output.weight"] + self[f"{beside}.output.bias"])

    @property
    def n(self) -> int:
        return len(self.x)


def target_cross_entropy(s: State) -> float:
    total, count = 0.0, 0
    for i in range(s.n):
        t = s.target[i]
        if np.ndim(t) == 0:
            if t >= 0:
                total, count = total - np.log(s.p(i)[t]), count + 1
        else:
            total, count = total - sum(t[c] * np.log(s.p(i)[c]) for c in range(len(t))), count + 1
    return total / count


def vanilla(s: State) -> float:
    return -np.mean([np.log(s.p(i)[y]) for i, _, y in s.annotations])


def soft_bootstrap(s: State) -> float:
    beta = float(s["trust"])
    total = 0.0
    for i in range(s.n):
        p = s.p(i)
        total -= sum((beta * s.target[i][c] + (1 - beta) * p[c]) * np.log(p[c]) for c in range(len(p)))
    return total / s.n


def stochastic(v: Array) -> Array:
    positive = softplus(v)
    return positive / positive.sum(-1, keepdims=True)


def trace(s: State) -> float:
    pi = stochastic(s["logits"])
    nll = [-np.log(sum(s.p(i)[c] * pi[r, c, y] for c in range(pi.shape[1]))) for i, r, y in s.annotations]
    return np.sum(nll) / s.n + float(s["strength"]) * sum(np.trace(pi[r]) for r in range(len(pi)))


def single_cm(s: State) -> float:
    pi = stochastic(s["logits"])
    nll = [-np.log((s.p(i) @ pi)[y]) for i, _, y in s.annotations]
    return np.mean(nll) + float(s["strength"]) * np.trace(pi)


def worker_matrix(s: State, r: int, prefix: str, scale: float) -> Array:
    if f"{prefix}.weight" in s.tensors:
        return s[f"{prefix}.weight"][r]
    left, right = s[f"{prefix}.left"][r], s[f"{prefix}.right"][r]
    return scale * np.eye(len(left)) + left @ right


def crowd_layer(s: State, connection: str) -> float:
    nll = []
    for i, r, y in s.annotations:
        if connection == "mw":
            a = s.p(i) @ worker_matrix(s, r, "matrices", 1.0)
        else:
            a = s["weight"][r] * s.p(i) + (s["bias"][r] if connection == "vw+b" else 0)
        nll.append(-np.log(softmax(a)[y]))
    return np.mean(nll)


def crowd_layer_over(s: State) -> float:
    nll = []
    for i, r, y in s.annotations:
        hidden = softmax(s.p(i) @ s["first.weight"][r])
        nll.append(-np.log(softmax(hidden @ s["second.weight"][r])[y]))
    return np.mean(nll)


def ccc(s: State, variant: str, corrected: Array | None = None) -> float:
    matrices = s["matrices"] if corrected is None else corrected
    total = 0.0
    for k in range(2):
        for i, r, y in s.annotations:
            of_labels = softmax(s.p(i, f"classifier.networks.{k}") @ matrices[k, r])
            total -= np.log(of_labels[y] + (1e-5 if variant == "authors" else 0))
    return total / len(s.annotations)


def distilled(s: State, k: int, per_class: int, variant: str) -> list[list[int]]:
    """For every class, what the other model is surest of among those with that label."""
    sets = []
    for c in range(s["matrices"].shape[-1]):
        given = [i for i, _, y in s.annotations if y == c]
        tasks = given if variant == "authors" else sorted(set(given))
        sets.append(sorted(tasks, key=lambda i: -s.p(i, f"classifier.networks.{1 - k}")[c])[:per_class])
    return sets


def correction(s: State, k: int, layers: str, meta: list[tuple[int, int]], lr: float, gamma: float) -> Array:
    """V: central differences of the meta loss after a virtual step whose gradient is a loop's, by autograd."""
    names = ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]
    theta = [torch.tensor(s[f"classifier.networks.{k}.{name}"], requires_grad=True) for name in names]
    x, group = torch.tensor(s.x), s["group"][k]
    n_groups, c = s["correction"].shape[1:3]

    def p(weights: Any, i: int) -> Any:
        return torch.softmax(torch.relu(x[i] @ weights[0] + weights[1]) @ weights[2] + weights[3], 0)

    def meta_loss(v: Array) -> float:
        terms = []
        for i, r, y in s.annotations:
            logits = p(theta, i) @ torch.tensor(s["matrices"][k, r] + v[group[r]])
            terms.append(-torch.log_softmax(logits, 0)[y])
        slopes = torch.autograd.grad(torch.stack(terms).mean(), theta)
        moves = [layers == "all" or name.startswith("output") for name in names]
        virtual = [w - lr * g if move else w for w, g, move in zip(theta, slopes, moves, strict=True)]
        return -np.mean([p(virtual, i)[y].log().item() for i, y in meta])

    gradient, step = np.zeros((n_groups, c, c)), 1e-4
    for at in np.ndindex(gradient.shape):
        e = np.zeros_like(gradient)
        e[at] = step
        gradient[at] = (meta_loss(e) - meta_loss(-e)) / (2 * step)
    return -gamma * s["matrices"][k].max() / np.abs(gradient).max() * gradient


def omega(s: State, i: int, r: int, source: str, scaled: str, known: Array | None = None) -> float:
    net = "omega_network."
    x = s.x[i]
    if net + "centre" in s.tensors:
        x = (x - s[net + "centre"]) * s[net + "scale"]
    if source == "task":
        v = s[net + "task"][i]
    elif source == "two-layer":
        inner = x @ s[net + "inner.weight"] + s[net + "inner.bias"]
        v = inner @ s[net + "outer.weight"] + s[net + "outer.bias"]
    else:
        v = x @ s[net + "outer.weight"] + s[net + "outer.bias"]
    e = np.eye(len(s[net + "worker.weight"]))[r] if known is None else known[r]
    u = e @ s[net + "worker.weight"] + s[net + "worker.bias"]
    u = u if scaled == "none" else normalise(u)
    bias = float(s[net + "bias"]) if net + "bias" in s.tensors else 0.0
    return sigmoid(u @ (normalise(v) if scaled == "both" else v) + bias)


def conal(s: State, variant: str, source: str, scaled: str, known: Array | None = None) -> float:
    nll, common, n_workers = [], s["common"], 0
    for i, r, y in s.annotations:
        p, own, w = s.p(i), worker_matrix(s, r, "individual", 2.0), omega(s, i, r, source, scaled, known)
        if variant == "mixture":
            of_rows = [w * softmax(common[c])[y] + (1 - w) * softmax(own[c])[y] for c in range(len(p))]
            probability = p @ np.array(of_rows)
        elif variant == "paper":
            probability = w * softmax(p @ common)[y] + (1 - w) * softmax(p @ own)[y]
        else:
            probability = softmax(w * (p @ common) + (1 - w) * (p @ own))[y]
        nll.append(-np.log(probability))
    n_workers = len(s.tensors.get("individual.weight", s.tensors.get("individual.left")))
    distance = sum(np.linalg.norm(common - worker_matrix(s, r, "individual", 2.0)) for r in range(n_workers))
    return np.mean(nll) - float(s["regularisation"]) * distance


def conal_groups(s: State, scaled: str) -> float:
    nll, distance = [], 0.0
    gamma = np.array([softmax(m) for m in s["membership"]])
    for i, r, y in s.annotations:
        p, w = s.p(i), omega(s, i, r, "features", scaled)
        shared = sum(gamma[r, g] * softmax(p @ s["common"][g])[y] for g in range(gamma.shape[1]))
        nll.append(-np.log(w * shared + (1 - w) * softmax(p @ s["individual.weight"][r])[y]))
    for r in range(len(gamma)):
        for g in range(gamma.shape[1]):
            distance += gamma[r, g] * np.linalg.norm(s["common"][g] - s["individual.weight"][r])
    return np.mean(nll) - float(s["regularisation"]) * distance


def em_confusion(counts: Array, alpha: float) -> Array:
    out = np.empty_like(counts)
    for r, c in np.ndindex(counts.shape[:2]):
        out[r, c] = (counts[r, c] + alpha) / (counts[r, c] + alpha).sum()
    return out


def e_step(s: State, pi: Array) -> Array:
    q = np.array([s.p(i) for i in range(s.n)])
    for i, r, y in s.annotations:
        q[i] *= pi[r, :, y]
    return q / q.sum(1, keepdims=True)


def m_step(q: Array, annotations: Any, shape: tuple[int, ...]) -> Array:
    counts = np.zeros(shape)
    for i, r, y in annotations:
        counts[r, :, y] += q[i]
    return counts


def generalized_em(s: State) -> float:
    pi = em_confusion(s["counts"], float(s["smoothing"]))
    total = 0.0
    for i in range(s.n):
        joint = s.p(i).copy()
        for j, r, y in s.annotations:
            if j == i:
                joint *= pi[r, :, y]
        total -= np.log(joint.sum())
    return total / s.n
