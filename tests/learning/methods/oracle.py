"""The methods' losses transcribed from the equations: loops over annotations, float64 NumPy, nothing shared."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

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
        self.annotations = list(zip(batch.row.tolist(), batch.worker.tolist(), batch.label.tolist(), strict=True))

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name]

    def p(self, i: int) -> Array:
        """softmax(f(x_i)) of the network with one hidden layer, without dropout."""
        beside = "classifier.network" if "classifier.network.hidden.weight" in self.tensors else "classifier"
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


def mixing(s: State) -> float:
    w, total = softmax(s["classifier.weight"]), 0.0
    for i, _, y in s.annotations:
        own = {r for j, r, _ in s.annotations if j == i}
        others = [r for r in range(len(w)) if r not in own]
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
