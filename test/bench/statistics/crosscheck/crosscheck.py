"""Compares the statistics of random tables with scipy, statsmodels, krippendorff and truescore, and prints a table of deviations.
Means that labels of people correct are also compared with truescore and cje-eval by simulation, since no two have the same interval.

Usage: crosscheck.py PROGRAM [TABLES]. PROGRAM is test/bench/statistics/crosscheck. Exits with 1 if a figure deviates without a known reason.
"""

import json
import logging
import os
import subprocess
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the matrices are small

import cje
import krippendorff
import numpy as np
import truescore
from scipy import optimize, stats
from statsmodels.regression import linear_model
from statsmodels.stats import contingency_tables, inter_rater, multitest, proportion, weightstats

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
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
    labelled, binary = int(rng.integers(2, 40)), bool(rng.integers(0, 2))
    people, judged = judgements(rng, labelled + int(rng.integers(2, 200)), binary, rng.uniform(0.5, 1), rng.uniform(0.4, 1))
    return {
        "group": rng.integers(1, 5, n).tolist(),
        "margin": float(rng.uniform(0.1, 1)),
        **labels_of(people, judged, labelled),
        "scale": [float(k) for k in range(1, grades + 1)],
        "full": full.tolist(),
        "gaps": [[None if np.isnan(v) else v for v in row] for row in gaps],
        "x": x.tolist(),
        "y": (rng.uniform(-1, 1) * x + rng.normal(size=n)).tolist(),
        "p": (rng.random(int(rng.integers(1, 12))) ** 2).tolist(),
        "cells": [int(v) for v in rng.integers(0, 20, 4)],
        "hits": int(rng.integers(0, of + 1)),
        "of": of,
    }


def judgements(rng, items, binary, sensitivity, specificity):
    """What people, and a judge with errors, say of items, from 0 to 1."""
    if binary:
        people = (rng.random(items) < 0.8).astype(float)
        right = rng.random(items) < np.where(people == 1, sensitivity, specificity)
        return people, np.where(right, people, 1 - people)
    people = rng.beta(4, 2, items)
    return people, np.clip(people + 0.1 + 0.15 * rng.normal(size=items), 0, 1)


def labels_of(people, judged, labelled):
    return {"judged": judged.tolist(), "labels": people[:labelled].tolist() + [None] * (len(people) - labelled)}


def tango(b, c, n):
    """The ends of the difference at which the score statistic is a quantile of the normal distribution; its discordant share by maximizing
    the likelihood with a given difference, in numbers and not by Tango's formula."""

    def score(d):
        low, high = max(0.0, -d), (1 - d) / 2  # of the share that only the first passes

        def loss(q):
            with np.errstate(divide="ignore"):
                terms = [(b, q + d), (c, q), (n - b - c, 1 - 2 * q - d)]
                return -sum(k * np.log(max(p, 0.0)) for k, p in terms if k)

        q = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
        return (b - c - n * d) / np.sqrt(max(n * (2 * q + d * (1 - d)), 1e-300))

    z, middle = stats.norm.ppf(0.975), (b - c) / n
    edge = 1 - 1e-9
    return tuple(optimize.brentq(lambda d: score(d) - at, *ends, xtol=1e-12) for at, ends in ((z, (-edge, middle)), (-z, (middle, edge))))


def reference(q, ours):
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

    for scale in ("nominal", "ordinal", "interval"):
        put("alpha " + scale, lambda: krippendorff.alpha(reliability_data=gaps.T, level_of_measurement=scale))
    q_ = len(q["scale"])
    table = np.zeros((q_, q_))
    for first, second in full[:, :2].astype(int):
        table[first - 1, second - 1] += 1
    for name, weights in (("identity", None), ("linear", "linear"), ("quadratic", "quadratic")):
        put("cohen " + name, lambda: inter_rater.cohens_kappa(table, wt=weights).kappa)
    put("spearman", lambda: stats.spearmanr(full[:, 0], full[:, 1]).statistic)
    put("mean ci", lambda: tuple(stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))))
    for name, method in (("holm", "holm"), ("bh", "fdr_bh")):
        put(name, lambda: list(multitest.multipletests(q["p"], method=method)[1]))
    one, two, three, four = q["cells"]
    put("mcnemar", lambda: contingency_tables.mcnemar([[one, two], [three, four]], exact=True).pvalue)
    put("fisher", lambda: stats.fisher_exact([[one, two], [three, four]]).pvalue)
    put("fisher greater", lambda: stats.fisher_exact([[one, two], [three, four]], alternative="greater").pvalue)
    put("wilson", lambda: proportion.proportion_confint(q["hits"], q["of"], method="wilson"))
    put("clopper-pearson", lambda: proportion.proportion_confint(q["hits"], q["of"], method="beta"))
    put("paired ci", lambda: tuple(stats.ttest_rel(y, x).confidence_interval()))
    put("equivalent", lambda: float(weightstats.ttost_paired(y, x, -q["margin"], q["margin"])[0] < 0.05))
    put("gate passes", lambda: float(weightstats.ttost_paired(y, x, -q["margin"], q["margin"])[1][1] < 0.025))
    put("gate fails", lambda: float(stats.ttest_rel(y + q["margin"], x, alternative="less").pvalue < 0.025))
    clustered = linear_model.OLS(y - x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": np.array(q["group"])}, use_t=True)
    put("clustered ci", lambda: tuple(clustered.conf_int()[0]))
    put("clustered p", lambda: clustered.pvalues[0])
    put("welch ci", lambda: weightstats.CompareMeans.from_data(y, x).tconfint_diff(usevar="unequal"))
    put("newcombe", lambda: proportion.confint_proportions_2indep(three, three + four, one, one + two, method="newcomb", compare="diff"))
    put("tango", lambda: tango(two, three, one + two + three + four))
    put("gwet", lambda: truescore.gwet_ac1(full[:, 0], full[:, 1]))
    labelled = sum(v is not None for v in q["labels"])
    corrected = lambda **given: truescore.ppi_estimate(q["judged"], q["labels"][:labelled], range(labelled), **given)
    put("ppi", lambda: corrected(lambda_=ours["ppi lambda"]).point)
    # They divide the covariance by n, we by n - 1.
    put("ppi lambda", lambda: min(1, corrected().lambda_ * labelled / (labelled - 1)))
    put("ppi of judge", lambda: ours["ppi lambda"] ** 2 * np.var(q["judged"][labelled:], ddof=1) / (len(q["judged"]) - labelled))
    differences = np.round(10 * (x - y))[:12]
    put("sign flip", lambda: stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue)
    return a


# What may deviate, and why: whether ours, theirs and the question are of that kind.
REASONS = {
    "no item differs: no value here, and 1 there": lambda name, ours, theirs, q: (
        name == "mcnemar" and ours is None and q["cells"][1] + q["cells"][2] == 0
    ),
    "a corrected mean beyond the scale: its end here": lambda name, ours, theirs, q: (
        name == "ppi" and (ours[0] == 0 and theirs[0] < 0 or ours[0] == 1 and theirs[0] > 1)
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


def ask(questions):
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    answers = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(questions)
    return [json.loads(line) for line in answers]


def corrections(sets=400, items=500):
    """Prints how often intervals of corrected means contain the truth, and how wide they are."""
    print("\n| scores | labels | looptrace | truescore, PPI++ | truescore, labels alone | cje-eval |")
    print("| --- | --- | --- | --- | --- | --- |")
    kinds = (
        ("passes, 80%, judge .92 and .70", 0.8, lambda rng: judgements(rng, items, True, 0.92, 0.7)),
        ("scores, judge mild by a tenth", 4 / 6, lambda rng: judgements(rng, items, False, 0, 0)),
    )
    for kind, truth, draw in kinds:
        for labelled in (20, 50, 100):
            rng = np.random.default_rng(labelled)
            drawn = [draw(rng) for _ in range(sets)]
            intervals = {name: [] for name in ("ours", "ppi", "alone", "cje")}
            for (people, judged), answer in zip(drawn, ask([labels_of(*both, labelled) for both in drawn])):
                intervals["ours"].append(answer["ppi ci"])
                e = truescore.ppi_estimate(judged, people[:labelled], range(labelled))
                intervals["ppi"].append((e.low, e.high))
                e = truescore.gold_only_estimate(people[:labelled])
                intervals["alone"].append((e.low, e.high))
                known = np.where(np.arange(items) < labelled, people, np.nan)
                try:
                    intervals["cje"].append(cje.calibrated_mean_ci(judged, known).ci)
                except ValueError:  # it refuses some sets
                    pass
            cells = []
            for found in intervals.values():
                found = np.array(found)
                inside = np.mean((found[:, 0] <= truth) & (truth <= found[:, 1]))
                refused = f" ({sets - len(found)} refused)" if len(found) < sets else ""
                cells.append(f"{100 * inside:.1f} · {100 * np.mean(found[:, 1] - found[:, 0]):.1f}{refused}")
            print(f"| {kind} | {labelled} | " + " | ".join(cells) + " |")


def main():
    tables = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = np.random.default_rng(20261126)
    questions = [question(rng) for _ in range(tables)]
    answers = ask(questions)
    summary, known, unknown = {}, {}, []
    for q, ours in zip(questions, answers):
        for name, theirs in reference(q, ours).items():
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
    corrections()
    print(f"\n{len(unknown)} deviations without a known reason")
    print("\n".join(unknown[:10]))
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
