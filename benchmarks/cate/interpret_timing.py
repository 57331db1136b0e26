"""Processor seconds of the doubly robust learner with interpret's DP-EBM at 160,000 records of setup A, epsilon 1.

    python3 benchmarks/cate/interpret_timing.py [ROWS]

Needs interpret-core 0.7.8, numpy and scikit-learn. Beside it: `cargo bench --bench cate -- --timing --learners dr-ebm,dr-hat`.
One thread each way; parts, rounds and bins are the paper's.
"""

import sys
import time
import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

warnings.filterwarnings("ignore")


def setup_a(rows, generator):
    x = generator.uniform(size=(rows, 6))
    wave = np.sin(np.pi * x[:, 0] * x[:, 1])
    treated = (generator.uniform(size=rows) < np.clip(wave, 0.1, 0.9)).astype(int)
    base = wave + 2 * (x[:, 2] - 0.5) ** 2 + x[:, 3] + 0.5 * x[:, 4]
    effect = (x[:, 0] + x[:, 1]) / 2
    return x, treated, base + effect * treated + generator.standard_normal(rows)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 160_000
    x, t, y = setup_a(rows, np.random.default_rng(1))
    first, second = rows // 4, rows // 2
    budget = dict(epsilon=1.0, delta=1e-5, random_state=1, n_jobs=1)
    elapsed, processor = time.perf_counter(), time.process_time()
    odds = DPExplainableBoostingClassifier(**budget).fit(x[:first], t[:first])
    with_arm = np.column_stack([t, x])
    outcome = DPExplainableBoostingRegressor(**budget).fit(with_arm[first:second], y[first:second])
    x, t, y = x[second:], t[second:], y[second:]
    e = np.clip(odds.predict_proba(x)[:, 1], 0.05, 0.95)
    control = outcome.predict(np.column_stack([np.zeros(len(t)), x]))
    treatment = outcome.predict(np.column_stack([np.ones(len(t)), x]))
    pseudo = treatment - control + t * (y - treatment) / e - (1 - t) * (y - control) / (1 - e)
    DPExplainableBoostingRegressor(**budget).fit(x, pseudo)
    print(f"interpret-core DR,{rows},{time.process_time() - processor:.3f},{time.perf_counter() - elapsed:.3f}")


if __name__ == "__main__":
    main()
