"""Compares the statistics of random tables with scipy, statsmodels, pingouin and krippendorff, and prints a table of deviations.

Usage: crosscheck.py PROGRAM [TABLES]. PROGRAM is test/bench/statistics/crosscheck. Exits with 1 if a figure deviates without a known reason.
"""

import json
import os
import subprocess
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the matrices are small

import krippendorff
import numpy as np
import pandas as pd
import pingouin
from scipy import stats
from statsmodels.stats import contingency_tables, inter_rater, multitest, power, proportion

warnings.simplefilter("ignore")
pingouin.options.update({"round": None, "round.column.CI95%": None, "round.column.CI95": None})
TOLERANCE = 1e-6


def question(rng):
    items, raters, grades = int(rng.integers(4, 30)), int(rng.integers(2, 6)), int(rng.integers(2, 6))
    truth = rng.integers(1, grades + 1, items)
    noise = rng.uniform(0.05, 0.9)
    full = np.where(rng.random((items, raters)) < noise, rng.integers(1, grades + 1, (items, raters)), truth[:, None]).astype(float)
    gaps = np.where(rng.random(full.shape) < 0.15, np.nan, full)
    n = int(rng.integers(5, 60))
    x = rng.normal(size=n)
    of = int(rng.integers(1, 200))
    return {
        "scale": [float(k) for k in range(1, grades + 1)],
        "full": full.tolist(),
        "gaps": [[None if np.isnan(v) else v for v in row] for row in gaps],
        "x": x.tolist(),
        "y": (rng.uniform(-1, 1) * x + rng.normal(size=n)).tolist(),
        "p": (rng.random(int(rng.integers(1, 12))) ** 2).tolist(),
        "cells": [int(v) for v in rng.integers(0, 20, 4)],
        "hits": int(rng.integers(0, of + 1)),
        "of": of,
        "h": float(rng.uniform(0.05, 1)),
    }


def reference(q):
    """Returns the figures of the other implementations by name. One that raises has none."""
    full, gaps = np.array(q["full"]), np.array(q["gaps"], dtype=float)
    x, y = np.array(q["x"]), np.array(q["y"])
    a = {}

    def put(name, compute):
        try:
            value = compute()
        except Exception:
            value = None
        a[name] = value

    for scale in ("nominal", "ordinal", "interval", "ratio"):
        put("alpha " + scale, lambda: krippendorff.alpha(reliability_data=gaps.T, level_of_measurement=scale))
    q_ = len(q["scale"])
    table = np.zeros((q_, q_))
    for first, second in full[:, :2].astype(int):
        table[first - 1, second - 1] += 1
    for name, weights in (("identity", None), ("linear", "linear"), ("quadratic", "quadratic")):
        kappa = None
        try:
            kappa = inter_rater.cohens_kappa(table, wt=weights)
        except Exception:
            pass
        put("cohen " + name, lambda: kappa.kappa)
        put("cohen se " + name, lambda: kappa.std_kappa)
        put("cohen se0 " + name, lambda: kappa.std_kappa0)
    counts = np.stack([(full == k).sum(axis=1) for k in q["scale"]], axis=1)
    put("fleiss", lambda: inter_rater.fleiss_kappa(counts, method="fleiss"))
    put("randolph", lambda: inter_rater.fleiss_kappa(counts, method="randolph"))
    try:
        long = pd.DataFrame(full).stack().reset_index()
        long.columns = ["item", "rater", "score"]
        icc = pingouin.intraclass_corr(long, targets="item", raters="rater", ratings="score").set_index("Type")
        interval = [c for c in icc.columns if c.startswith("CI")][0]
    except Exception:
        icc = None
    for name in ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)"):
        put(name, lambda: icc.loc[name, "ICC"])
        put(name + " ci", lambda: icc.loc[name, interval])
    # Friedman's test is chi-squared of Kendall's W; scipy needs three raters.
    if full.shape[1] > 2:
        put("kendall chi2", lambda: friedman(full.T)[0])
        put("kendall p", lambda: friedman(full.T)[1])
    put("pearson", lambda: stats.pearsonr(x, y).statistic)
    put("pearson ci", lambda: tuple(stats.pearsonr(x, y).confidence_interval()))
    put("spearman", lambda: stats.spearmanr(full[:, 0], full[:, 1]).statistic)
    put("mean ci", lambda: tuple(stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))))
    for name, method in (("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")):
        put(name, lambda: list(multitest.multipletests(q["p"], method=method)[1]))
    one, two, three, four = q["cells"]
    put("mcnemar", lambda: contingency_tables.mcnemar([[one, two], [three, four]], exact=True).pvalue)
    put("mcnemar chi2 p", lambda: contingency_tables.mcnemar([[one, two], [three, four]], exact=False).pvalue)
    put("fisher", lambda: stats.fisher_exact([[one, two], [three, four]]).pvalue)
    put("fisher greater", lambda: stats.fisher_exact([[one, two], [three, four]], alternative="greater").pvalue)
    passed = (full > 1).astype(int)
    put("cochran", lambda: contingency_tables.cochrans_q(passed).statistic)
    put("cochran p", lambda: contingency_tables.cochrans_q(passed).pvalue)
    put("wilson", lambda: proportion.proportion_confint(q["hits"], q["of"], method="wilson"))
    put("clopper-pearson", lambda: proportion.proportion_confint(q["hits"], q["of"], method="beta"))
    put("power", lambda: power.NormalIndPower().power(q["h"], q["of"], 0.05))
    differences = np.round(10 * (x - y))[:12]
    put("sign flip", lambda: stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue)
    return a


def friedman(columns):
    """Friedman's test takes items as treatments: here the raters are its blocks."""
    return stats.friedmanchisquare(*columns.T)


# What may deviate, and why: whether ours, theirs and the question are of that kind.
REASONS = {
    "a standard error of 0 is none here": lambda name, ours, theirs, q: name.startswith("cohen se") and ours is None and theirs[0] == 0,
    "without a residual there is no F and no interval here, and [1, 1] there": lambda name, ours, theirs, q: (
        name.endswith(" ci") and ours is None and np.allclose(theirs, 1)
    ),
    "the mean of the raters has no lower bound: no interval here, and one whose low end is above the high one there": lambda name, ours, theirs, q: (
        name == "ICC(A,k) ci" and ours is None and theirs[0] > theirs[1]
    ),
    "items vary less than by chance, with a divisor of 0 or less: no value here, and one above 1 there": lambda name, ours, theirs, q: (
        name == "ICC(A,k)" and ours is None and theirs[0] > 1
    ),
    "no item differs: no value here, and 1 there, or 0 with the correction": lambda name, ours, theirs, q: (
        name.startswith("mcnemar") and ours is None and q["cells"][1] + q["cells"][2] == 0
    ),
    "equal numbers have no continuity correction here, as in R": lambda name, ours, theirs, q: (
        name == "mcnemar chi2 p" and q["cells"][1] == q["cells"][2]
    ),
    "a margin of 0: no p value here, and 1 there": lambda name, ours, theirs, q: name.startswith("fisher") and ours is None and theirs[0] == 1,
}


def reason(name, ours, theirs, q):
    return next((why for why, holds in REASONS.items() if holds(name, ours, theirs, q)), None)


def numbers(value):
    if value is None:
        return None
    try:
        flat = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        return None
    return flat if np.isfinite(flat).all() else None


def main():
    tables = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = np.random.default_rng(20261126)
    questions = [question(rng) for _ in range(tables)]
    answers = subprocess.run(
        [sys.argv[1]], input="".join(json.dumps(q) + "\n" for q in questions), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(answers) == tables
    summary, known, unknown = {}, {}, []
    for q, line in zip(questions, answers):
        ours = json.loads(line)
        for name, theirs in reference(q).items():
            row = summary.setdefault(name, {"same": 0, "none in both": 0, "apart": 0, "largest": 0.0})
            a, b = numbers(ours[name]), numbers(theirs)
            if a is None and b is None:
                row["none in both"] += 1
                continue
            if a is not None and b is not None:
                off = float(np.max(np.abs(a - b) / np.maximum(1, np.abs(b))))
                if off <= TOLERANCE:
                    row["same"] += 1
                    row["largest"] = max(row["largest"], off)
                    continue
            row["apart"] += 1
            why = reason(name, a, b, q)
            if why is None:
                unknown.append(f"{name}: ours {ours[name]}, theirs {theirs}, of {json.dumps(q)}")
            else:
                known.setdefault(why, {}).setdefault(name, []).append((ours[name], theirs))
    print("| figure | same | none in both | apart | largest deviation of the same |")
    print("| --- | --- | --- | --- | --- |")
    for name, row in summary.items():
        print("| %s | %d | %d | %d | %.0e |" % ((name,) + tuple(row.values())))
    for why, names in known.items():
        print(f"\n{why}:")
        for name, found in names.items():
            print(f"  {name}: {len(found)}, such as {found[0][0]} and {found[0][1]}")
    print(f"\n{len(unknown)} deviations without a known reason")
    print("\n".join(unknown[:10]))
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
