"""The Dawid–Skene family re-derived literally: dense counts, loops over the paper's indices, plain products.

Dawid & Skene (1979) in their notation: n_il^k = how often observer k gave patient i the response l; p_j class
shares; π_jl^(k) error rates; T_ij indicators of the true class. Independent of the library: nothing is imported.
"""

from __future__ import annotations

import math

import numpy as np


def tensor(dataset):
    """n[i, k, l]."""
    n = np.zeros((dataset.n_tasks, dataset.n_workers, dataset.n_classes))
    for i, k, label in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        n[i, k, label] += 1
    return n


def dawid_skene_rates(n, T, alpha):
    """π_jl^(k) = (α + Σ_i T_ij n_il^k) / Σ_l (α + Σ_i T_ij n_il^k): equation 2.3 with smoothing."""
    _, observers, classes = n.shape
    rates = np.zeros((observers, classes, classes))
    for k in range(observers):
        for j in range(classes):
            row = [alpha + math.fsum(T[:, j] * n[:, k, label]) for label in range(classes)]
            for label in range(classes):
                rates[k, j, label] = row[label] / sum(row)
    return rates


def one_coin_rates(n, T, alpha):
    """s_k = (α + Σ_i Σ_l T_il n_il^k) / (Jα + Σ_i Σ_l n_il^k), errors spread evenly."""
    _, observers, classes = n.shape
    rates = np.zeros((observers, classes, classes))
    for k in range(observers):
        skill = (alpha + math.fsum((T * n[:, k]).ravel())) / (classes * alpha + n[:, k].sum())
        for j in range(classes):
            for label in range(classes):
                rates[k, j, label] = skill if j == label else (1 - skill) / (classes - 1)
    return rates


def em(dataset, iterations, rates=dawid_skene_rates, alpha=0.01, hard=False, known=None):
    """T after ``iterations`` from vote shares, the rates and shares that follow, and the log-likelihoods."""
    n = tensor(dataset)
    patients, observers, classes = n.shape
    T = n.sum(1) / np.maximum(n.sum((1, 2)), 1)[:, None]
    clamp(T, known)
    likelihoods = []
    for _ in range(iterations):
        p = T.sum(0) / T.sum()  # equation 2.4
        pi = rates(n, T, alpha)
        joint = np.zeros((patients, classes))  # equation 2.5 before normalising
        for i in range(patients):
            for j in range(classes):
                joint[i, j] = p[j] * math.prod(
                    pi[k, j, label] ** n[i, k, label] for k in range(observers) for label in range(classes)
                )
        log_likelihood = 0.0
        for i in range(patients):
            if known is not None and known[i] >= 0:
                log_likelihood += math.log(joint[i, known[i]])
            elif n[i].sum():
                log_likelihood += math.log(joint[i].max() if hard else joint[i].sum())
        likelihoods.append(log_likelihood + prior_density(pi, alpha, rates))
        T = np.eye(classes)[joint.argmax(1)] if hard else joint / joint.sum(1, keepdims=True)
        T[n.sum((1, 2)) == 0] = 0
        clamp(T, known)
    return T, rates(n, T, alpha), T.sum(0) / T.sum(), np.array(likelihoods)


def prior_density(pi, alpha, rates):
    """Log density of the rates under their Dirichlet(1 + α) priors, without constants (one row per coin)."""
    rows = pi if rates is dawid_skene_rates else pi[:, :1]
    return alpha * np.log(rows).sum() if alpha else 0.0


def clamp(T, known):
    """Known patients keep their class."""
    for i in range(len(T) if known is not None else 0):
        if known[i] >= 0:
            T[i] = 0
            T[i, known[i]] = 1
