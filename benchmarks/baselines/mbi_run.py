#!/usr/bin/env python3
"""MST and AIM on mbi's engine, written from the papers, and mbi's mirror descent on the fixed problems.

    python mbi_run.py mst|aim-2|aim-3 ADULT_FOLDER RUNS [SECONDS]
    python mbi_run.py fit PROBLEMS.json

Prints a line of JSON per run. Iterations are those of mbi's own examples: MST 2500 before the choice and 10000 after it, AIM 1000 a
round. SECONDS stops AIM after so much processor time; the share of the budget spent by then is printed.
"""

import itertools
import json
import math
import pathlib
import resource
import sys

import jax
import mbi
import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

EPSILON, DELTA = 1.0, 1e-9
AIM_CELLS = 80e6 / 8
WORKLOAD_CELLS = 10_000
# Every round compiles programs of its own; kept all together they run out of the memory maps that Linux gives a process.
ROUNDS_TO_KEEP = 10


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


def rho_of(epsilon, delta):
    """The largest rho whose delta at epsilon, minimised over the order of the divergence, is within delta."""

    def log_delta(rho):
        def at(order):
            a = 1 + math.exp(order)
            return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)

        return minimize_scalar(at, bounds=(-5, 12), method="bounded").fun

    return brentq(lambda rho: log_delta(rho) - math.log(delta), 1e-6, 10)


class Table:
    """Coded columns, counted by bincount."""

    def __init__(self, columns, sizes):
        self.columns, self.sizes = columns, sizes

    @property
    def rows(self):
        return len(next(iter(self.columns.values())))

    def counts(self, names):
        cell = np.zeros(self.rows, dtype=np.int64)
        for name in names:
            cell = cell * self.sizes[name] + self.columns[name]
        return np.bincount(cell, minlength=math.prod(self.sizes[n] for n in names)).astype(float)

    def domain(self):
        return mbi.Domain(tuple(self.sizes), tuple(self.sizes.values()))


def read(folder):
    sizes = json.loads((folder / "adult-domain.json").read_text())
    with open(folder / "adult_pgm_coded.csv") as file:
        names = file.readline().strip().split(",")
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64)
    columns = {name: codes[:, i] for i, name in enumerate(names)}
    return Table(columns, {name: sizes[name] for name in names})


def variation(one, other, degree):
    """Mean over all marginals of half the L1 distance of shares."""
    distances = [
        np.abs(one.counts(set_) / one.rows - other.counts(set_) / other.rows).sum() / 2
        for set_ in itertools.combinations(one.sizes, degree)
    ]
    return float(np.mean(distances))


def measured(table, names, sigma, random):
    values = table.counts(names)
    return mbi.LinearMeasurement(values + random.normal(0, sigma, values.size), tuple(names), stddev=sigma)


def choose(scores, epsilon, sensitivity, random):
    logits = epsilon * np.asarray(scores) / (2 * sensitivity)
    return random.choice(len(scores), p=np.exp(logits - logsumexp(logits)))


def fitted(table, measurements, iterations, before=None):
    estimator = mbi.estimation.MirrorDescent()
    return estimator.estimate(table.domain(), measurements, iters=iterations, warm_start=before)


def expected(model, names):
    return np.asarray(model.project(tuple(names)).datavector())


def mst(table, rho, random):
    columns = list(table.sizes)
    sigma = math.sqrt(3 / (2 * rho)) * math.sqrt(len(columns))
    mappings, singles = {}, []
    for name in columns:
        one = measured(table, [name], sigma, random)
        kept = np.asarray(one.noisy_measurement) >= 3 * sigma
        if (~kept).sum() > 1:
            mappings[name] = np.where(kept, np.cumsum(kept) - 1, kept.sum())
            one = one.compress({name: mappings[name]}, table.domain())
        singles.append(one)
    recoded = {n: mappings[n][c] if n in mappings else c for n, c in table.columns.items()}
    sizes = {n: int(mappings[n].max()) + 1 if n in mappings else s for n, s in table.sizes.items()}
    small = Table(recoded, sizes)
    model = fitted(small, singles, 2500)
    pairs = list(itertools.combinations(columns, 2))
    gap = {pair: np.abs(small.counts(pair) - expected(model, pair)).sum() for pair in pairs}
    epsilon = math.sqrt(8 * rho / 3 / (len(columns) - 1))
    part = {name: name for name in columns}
    edges = []
    while len(edges) < len(columns) - 1:
        open_pairs = [pair for pair in pairs if part[pair[0]] != part[pair[1]]]
        edge = open_pairs[choose([gap[pair] for pair in open_pairs], epsilon, 1.0, random)]
        edges.append(edge)
        part = {name: part[edge[0]] if p == part[edge[1]] else p for name, p in part.items()}
    sigma = math.sqrt(3 / (2 * rho)) * math.sqrt(len(edges))
    model = fitted(small, singles + [measured(small, edge, sigma, random) for edge in edges], 10_000)
    synthetic = model.synthetic_data().to_dict()
    for name, mapping in mappings.items():
        codes = np.asarray(synthetic[name])
        levels = [np.flatnonzero(mapping == cell) for cell in range(sizes[name])]
        synthetic[name] = np.array([random.choice(levels[code]) for code in codes])
    return Table({n: np.asarray(synthetic[n]) for n in columns}, table.sizes), {"rounds": len(edges)}


def aim(table, rho, random, degree, seconds):
    columns = list(table.sizes)
    size = lambda names: math.prod(table.sizes[n] for n in names)
    workload = [s for s in itertools.combinations(columns, degree) if size(s) <= WORKLOAD_CELLS]
    closure = {sub for s in workload for k in range(1, degree + 1) for sub in itertools.combinations(s, k)}
    weights = {r: sum(len(set(r) & set(s)) for s in workload) for r in sorted(closure)}
    counts = {r: table.counts(r) for r in weights}
    rounds = 16 * len(columns)
    sigma, epsilon = math.sqrt(rounds / (1.8 * rho)), math.sqrt(0.8 * rho / rounds)
    measurements = [measured(table, [name], sigma, random) for name in columns]
    used = len(columns) / (2 * sigma**2)
    model = fitted(table, measurements, 1000)
    start, number, is_last = cpu_seconds(), 0, False
    while not is_last and (seconds is None or cpu_seconds() - start < seconds):
        number += 1
        if number % ROUNDS_TO_KEEP == 0:
            jax.clear_caches()
        print(f"round {number}, {100 * used / rho:.0f} % of the budget, {cpu_seconds() - start:.0f} s", file=sys.stderr)
        charge = 1 / (2 * sigma**2) + epsilon**2 / 8
        if rho - used < 2 * charge:
            sigma, epsilon, is_last = math.sqrt(1 / (1.8 * (rho - used))), math.sqrt(0.8 * (rho - used)), True
            charge = rho - used
        used += charge
        limit = AIM_CELLS * min(1.0, used / rho)
        cliques = [m.clique for m in measurements]
        free = {frozenset(sub) for c in cliques for k in range(1, len(c) + 1) for sub in itertools.combinations(c, k)}
        open_sets = [r for r in weights if frozenset(r) in free or model_cells(table, cliques + [r]) <= limit]
        bias = math.sqrt(2 / math.pi) * sigma
        scores = [weights[r] * (np.abs(counts[r] - expected(model, r)).sum() - bias * size(r)) for r in open_sets]
        chosen = open_sets[choose(scores, epsilon, max(weights[r] for r in open_sets), random)]
        before = expected(model, chosen)
        measurements.append(measured(table, chosen, sigma, random))
        model = fitted(table, measurements, 1000, model)
        if np.abs(expected(model, chosen) - before).sum() <= bias * size(chosen):
            sigma, epsilon = sigma / 2, epsilon * 2
    synthetic = model.synthetic_data().to_dict()
    table = Table({n: np.asarray(synthetic[n]) for n in columns}, table.sizes)
    return table, {"rounds": number, "spent": used / rho}


def model_cells(table, cliques):
    megabytes_ = mbi.junction_tree.hypothetical_model_size(table.domain(), cliques)
    return megabytes_ * 2**20 / 8


def mechanisms(mechanism, folder, runs, seconds):
    table, rho = read(folder), rho_of(EPSILON, DELTA)
    for run in range(1, runs + 1):
        random, start = np.random.default_rng(run), cpu_seconds()
        if mechanism == "mst":
            synthetic, more = mst(table, rho, random)
        else:
            synthetic, more = aim(table, rho, random, int(mechanism[-1]), seconds)
        line = {"mechanism": mechanism, "run": run, "cpu": cpu_seconds() - start, "megabytes": megabytes(), **more}
        line |= {f"tv{degree}": variation(table, synthetic, degree) for degree in (1, 2, 3)}
        print(json.dumps(line), flush=True)


def fit(path):
    """1000 iterations, the compilation included (cold) and not (warm)."""
    for name, problem in json.loads(path.read_text()).items():
        domain = mbi.Domain(tuple(problem["names"]), tuple(problem["sizes"]))
        measurements = [
            mbi.LinearMeasurement(np.array(m["values"]), tuple(m["columns"]), stddev=m["sigma"])
            for m in problem["measurements"]
        ]
        line = {"problem": name}
        for state in ("cold", "warm"):
            start = cpu_seconds()
            model = mbi.estimation.MirrorDescent().estimate(domain, measurements, known_total=problem["total"], iters=1000)
            answers = [np.asarray(model.project(m.clique).datavector(), dtype=float) for m in measurements]
            line[state] = cpu_seconds() - start
        squares = [((a - m.noisy_measurement) / m.stddev) ** 2 for a, m in zip(answers, measurements)]
        line["loss"] = float(sum(s.sum() for s in squares)) / 2
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(pathlib.Path(sys.argv[2]))
    else:
        limit = float(sys.argv[4]) if len(sys.argv) > 4 else None
        mechanisms(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), limit)
