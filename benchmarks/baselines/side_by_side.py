#!/usr/bin/env python3
"""Runs MST and AIM of this project and on mbi's engine on the same table, one after the other, and prints a table of both.

    python3 benchmarks/baselines/side_by_side.py ADULT_FOLDER [--runs 5] [--mbi-runs 1] [--mbi-seconds 600]
        [--only mst,aim-2,aim-3,fit] [--environment DIR] [--command PROGRAM]

ADULT_FOLDER holds adult_pgm_coded.csv (codes counted from 0, with a header) and adult-domain.json (levels by column), as
ryan112358/private-pgm has them. mbi is installed by pip into a virtual environment, DIR (default: one that is removed at
the end). Every run has a process of its own, tied to one processor and one thread: processor seconds, with compilation where
mbi compiles, and the largest resident memory are that process's. PROGRAM is the benchmark, built before (default:
`cargo bench --bench baselines --`). mbi's AIM stops after `--mbi-seconds`.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MBI = "mbi==2.0.0"
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
}


def lines(command):
    """A program's lines of JSON."""
    result = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}, check=True, cwd=HERE.parent.parent
    )
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def environment(folder):
    """The Python of a virtual environment with mbi."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", MBI], check=True)
    return str(python)


def row(name, runs):
    mean = lambda key: sum(run[key] for run in runs) / len(runs)
    stopped = [run["spent"] for run in runs if run.get("spent", 1) < 1 - 1e-9]
    note = f", stopped at {100 * stopped[0]:.0f} % of its budget" if stopped else ""
    figures = [f"{mean('cpu'):.2f}", f"{max(run['megabytes'] for run in runs):.0f}"]
    figures += [f"{mean(key):.4f}" for key in ("tv1", "tv2", "tv3")]
    return f"| {name}{note} | {len(runs)} | " + " | ".join(figures) + " |"


def mechanisms(program, python, options):
    print("| run | runs | CPU s | RSS MB | TV1 | TV2 | TV3 |\n|---|---|---|---|---|---|---|")
    for mechanism in ("mst", "aim-2", "aim-3"):
        if mechanism not in options.only:
            continue
        ours = lines([*program, mechanism, options.folder, str(options.runs)])
        print(row(f"{mechanism}, dpcausal", ours), flush=True)
        if not options.mbi_runs:
            continue
        run = [python, str(HERE / "mbi_run.py"), mechanism, options.folder]
        theirs = lines([*run, str(options.mbi_runs), str(options.mbi_seconds)])
        print(row(f"{mechanism}, mbi", theirs), flush=True)
        mean = lambda runs: sum(run["cpu"] for run in runs) / len(runs)
        print(f"| {mechanism}, ratio | | {mean(theirs) / mean(ours):.0f} | | | | |", flush=True)


def fits(program, python, options):
    print("\n| problem | fit | loss | CPU s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        problems = pathlib.Path(folder) / "problems.json"
        for line in lines([*program, "fit", options.folder, str(problems)]):
            loss, cpu = line["loss"], line["cpu"]
            print(f"| {line['problem']} | dpcausal, {line['fit']} | {loss:.3f} | {cpu:.3f} |", flush=True)
        for line in lines([python, str(HERE / "mbi_run.py"), "fit", str(problems)]):
            for state in ("cold", "warm"):
                name, cpu = f"mbi, 1000 iterations, {state}", line[state]
                print(f"| {line['problem']} | {name} | {line['loss']:.3f} | {cpu:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mbi-runs", type=int, default=1)
    parser.add_argument("--mbi-seconds", type=float, default=600)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["mst", "aim-2", "aim-3", "fit"])
    parser.add_argument("--environment", type=pathlib.Path)
    parser.add_argument("--command", type=shlex.split, default=["cargo", "bench", "--quiet", "--bench", "baselines", "--"])
    options = parser.parse_args()
    # One processor for this process and all that it starts.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(options.environment or pathlib.Path(scratch) / "environment")
        mechanisms(options.command, python, options)
        if "fit" in options.only:
            fits(options.command, python, options)


if __name__ == "__main__":
    main()
