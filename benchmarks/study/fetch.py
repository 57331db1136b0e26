#!/usr/bin/env python3
"""Fetches what a study needs and a package registry has, into a folder of datasets.

    python3 benchmarks/study/fetch.py DIR

From PyPI (by pip, into a folder that is removed afterwards; pandas reads Stata's format):
  causaldata 0.1.5 (MIT)            DIR/lalonde/nsw_dw.csv, cps1.csv
  causallib 0.10.0 (Apache-2.0)     DIR/acic2016/acic2016_covariates.csv, acic2016_sims_causallib.csv
What is there already is left alone. What must be brought from elsewhere is printed at the end.
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile

LALONDE = ["treat", "age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75", "re78"]
LALONDE_STATA = ["treat", "age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75", "re78"]
SIMULATIONS = 10
UNITS = 4802

ELSEWHERE = {
    "lalonde/cps3.csv and psid3.csv": "Dehejia's NBER page, under the column names of nsw_dw.csv "
    "(datasets lalonde-cps3, lalonde-psid3)",
    "ihdp/ihdp_covariates_raw.csv": "vdorie/npci: unit, treat and the 25 covariates",
    "ihdp/ihdp_outcomes_1_100.csv.gz": "vdorie/npci: rep,unit,y0,y1,mu0,mu1 of replications 1-100, by rep, then unit",
    "acic2016/acic2016_sims_settings_1_20.csv.gz": "vdorie/aciccomp: setting,unit,z,y0,y1,mu0,mu1,e, by setting, then "
    "unit (without it: dataset acic-causallib)",
    "twins/twins_11984.csv.gz": "bradyneal/realcause: twin pairs under 2000 g",
    "acs2018/acs2018_workers_295k.csv.gz": "US Census Bureau, ACS 2018 1-year public use microdata, workers as selected "
    "by folktables' ACSIncome; the columns of benchmarks/study/harness/datasets/acs_scores.rs",
    "panel/smoking_data.csv, german_reunification.csv, geolift_test_data.csv and walmart_county_employment.csv": "jgreathouse9/mlsynth "
    "(datasets panel-prop99, panel-german, panel-geolift, panel-walmart)",
    "panel/texas_prisons.csv": "PyPI's causaldata (dataset panel-texas)",
    "gotv/gotv_ggl2008_civicduty.csv.gz": "soerenkuenzel/causalToolbox: the control and civic duty arms, under the column names of "
    "schemas/gotv.yaml (datasets cate-gotv, cate-gotv-observational)",
}


def lalonde(packages, folder):
    """The experiment and the whole CPS comparison group."""
    import pandas

    for package, name, rows in [("nsw_mixtape", "nsw_dw", 445), ("cps_mixtape", "cps1", 15992)]:
        target = folder / "lalonde" / f"{name}.csv"
        if target.exists():
            continue
        table = pandas.read_stata(packages / "causaldata" / package / f"{package}.dta")
        assert len(table) == rows, f"{package} has {len(table)} rows, not {rows}"
        table = table[LALONDE_STATA].set_axis(LALONDE, axis=1)
        whole = [column for column in LALONDE if not column.startswith("re")]
        table = table.astype({column: int for column in whole})
        target.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(target, index=False, float_format="%.7g")


def acic(packages, folder):
    """Covariates, and simulations without propensities, in the harness's layout."""
    source = packages / "causallib" / "datasets" / "data" / "acic_challenge_2016"
    target = folder / "acic2016"
    target.mkdir(parents=True, exist_ok=True)
    covariates, simulations = target / "acic2016_covariates.csv", target / "acic2016_sims_causallib.csv"
    if not covariates.exists():
        with open(source / "x.csv", newline="") as read, open(covariates, "w", newline="") as write:
            header, *rows = csv.reader(read)
            assert len(rows) == UNITS, f"x.csv has {len(rows)} rows"
            writer = csv.writer(write, lineterminator="\n")
            writer.writerow(["unit", *header])
            writer.writerows([unit, *row] for unit, row in enumerate(rows, 1))
    if not simulations.exists():
        with open(simulations, "w", newline="") as write:
            writer = csv.writer(write, lineterminator="\n")
            writer.writerow(["setting", "unit", "z", "y0", "y1", "mu0", "mu1"])
            for setting in range(1, SIMULATIONS + 1):
                with open(source / f"zymu_{setting}.csv", newline="") as read:
                    header, *rows = csv.reader(read)
                assert header == ["z", "y0", "y1", "mu0", "mu1"] and len(rows) == UNITS
                writer.writerows([setting, unit, *row] for unit, row in enumerate(rows, 1))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as packages:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages]
        subprocess.run([*pip, "pandas"], check=True)
        subprocess.run([*pip, "--no-deps", "causaldata==0.1.5", "causallib==0.10.0"], check=True)
        sys.path.insert(0, packages)
        lalonde(pathlib.Path(packages), folder)
        acic(pathlib.Path(packages), folder)
    missing = [name for name in ELSEWHERE if not os.path.exists(folder / name.split(" ")[0].rstrip(","))]
    if missing:
        print("To be brought from elsewhere (each dataset runs without the others):")
        for name in missing:
            print(f"  {name}\n      {ELSEWHERE[name]}")


if __name__ == "__main__":
    main()
