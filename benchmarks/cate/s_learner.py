"""The error of the S-learner with interpret's DP-EBM on setup A: one regression on treatment and covariates.

    python3 benchmarks/cate/s_learner.py [--rows 2000] [--epsilons 1,2,4] [--repetitions 30]

Needs interpret-core 0.7.8, numpy and scikit-learn. An additive regression's effect is the same for everyone, so its
mean squared error is the effect's variance (1/24) and the squared error of an average. `default` takes bounds from the
data, which is not private; `public` has those of the schema. Noise is not seeded: other runs differ within the
standard errors.
"""

import argparse
import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingRegressor
from interpret_timing import setup_a

warnings.filterwarnings("ignore")

BOUNDS = {
    "default": {},
    "public": {
        "privacy_bounds": np.array([[0.0, 1.0]] * 7),
        "privacy_target_min": -2.5,
        "privacy_target_max": 6.5,
    },
}


def effect(rows, epsilon, bounds, generator, test):
    x, t, y = setup_a(rows, generator)
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon, delta=1e-5, random_state=None, feature_types=["continuous"] * 7, **bounds
    ).fit(np.column_stack([t, x]), y)
    arms = [np.column_stack([np.full(len(test), arm), test]) for arm in (1, 0)]
    return model.predict(arms[0]) - model.predict(arms[1])


def main():
    parser = argparse.ArgumentParser()
    numbers = lambda kind: lambda text: [kind(word) for word in text.split(",")]
    parser.add_argument("--rows", type=numbers(int), default=[2000])
    parser.add_argument("--epsilons", type=numbers(float), default=[1.0, 2.0, 4.0])
    parser.add_argument("--repetitions", type=int, default=30)
    arguments = parser.parse_args()
    test, _, _ = setup_a(5000, np.random.default_rng(7))
    truth = (test[:, 0] + test[:, 1]) / 2
    print("bounds,setup,n,epsilon,repetitions,mse,standard_error,average_bias,average_deviation")
    for rows in arguments.rows:
        for epsilon in arguments.epsilons:
            for name, bounds in BOUNDS.items():
                errors = []
                for k in range(arguments.repetitions):
                    generator = np.random.default_rng(100 + k)
                    errors.append(effect(rows, epsilon, bounds, generator, test) - truth)
                mse, average = np.mean(np.square(errors), axis=1), np.mean(errors, axis=1)
                standard_error = mse.std() / len(errors) ** 0.5
                print(
                    f"{name},A,{rows},{epsilon:g},{len(errors)},{mse.mean():.4f},{standard_error:.4f},"
                    f"{average.mean():.3f},{average.std():.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
