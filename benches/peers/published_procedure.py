#!/usr/bin/env python3
"""Peer of `assize evaluate --matcher rounds --compat authors`: the published comparison procedure, transcribed from its description.

Matching: every free reference claims its nearest free prediction, each prediction goes to its nearest claimant, the winners of a round
are fixed together, and so on. Then, for each of the thresholds .01 to .50: match rate; concordance of each case, in which a tie of
predicted times counts one half and N/A is 1e8 h, as mean and median; and the area under the log-time distribution, in which N/A is
the largest error plus one hour and errors of sixty years and more are dropped.

Usage: published_procedure.py INPUT.json loops|numpy
`loops` is plain Python, as scripts for such a comparison are written; `numpy` does whole rounds and whole comparisons as arrays.
INPUT: {"cases": [{"n_ref", "n_pred", "distances": [n_ref * n_pred], "t_ref": [hours or null], "t_pred": [...]}]}
Prints one JSON object: seconds, and for each threshold [match rate, mean concordance, median concordance, area].
"""

import json
import math
import statistics
import sys
import time

import numpy as np

THRESHOLDS = [k / 100 for k in range(1, 51)]
MISSING_HOURS = 1e8
SIXTY_YEARS = math.log(60 * 8766)


def match_loops(case):
    n_pred = case["n_pred"]
    rows = [case["distances"][r * n_pred:(r + 1) * n_pred] for r in range(case["n_ref"])]
    references, predictions = list(range(case["n_ref"])), list(range(n_pred))
    pairs = []
    while references and predictions:
        claims = {}
        for r in references:
            row = rows[r]
            nearest = min(predictions, key=row.__getitem__)
            claims.setdefault(nearest, []).append((row[nearest], r))
        for p, claimants in claims.items():
            distance, r = min(claimants)
            pairs.append((distance, r, p))
        fixed = {pair[1] for pair in pairs}
        references = [r for r in references if r not in fixed]
        predictions = [p for p in predictions if p not in claims]
    return pairs


def match_numpy(case):
    distances = case["matrix"]
    references, predictions = np.arange(case["n_ref"]), np.arange(case["n_pred"])
    pairs = []
    while len(references) and len(predictions):
        left = distances[np.ix_(references, predictions)]
        claim = left.argmin(axis=1)
        distance = left[np.arange(len(references)), claim]
        order = np.lexsort((references, distance, claim))
        first = np.ones(len(order), bool)
        first[1:] = claim[order][1:] != claim[order][:-1]
        winners = order[first]
        pairs += zip(distance[winners].tolist(), references[winners].tolist(), predictions[claim[winners]].tolist())
        references = np.delete(references, winners)
        predictions = np.delete(predictions, claim[winners])
    return pairs


def concordance_loops(times):
    score, comparable = 0.0, 0
    for i, (ref, pred) in enumerate(times):
        for other_ref, other_pred in times[:i]:
            if ref == other_ref:
                continue
            comparable += 1
            if pred == other_pred:
                score += 0.5
            elif (ref < other_ref) == (pred < other_pred):
                score += 1
    return score / comparable if comparable else None


def concordance_numpy(times):
    if len(times) < 2:
        return None
    ref, pred = np.array(times).T
    upper = np.triu_indices(len(ref), 1)
    by_ref, by_pred = np.sign(ref[upper[0]] - ref[upper[1]]), np.sign(pred[upper[0]] - pred[upper[1]])
    comparable = np.count_nonzero(by_ref)
    score = np.count_nonzero(by_ref * by_pred > 0) + 0.5 * np.count_nonzero((by_ref != 0) & (by_pred == 0))
    return score / comparable if comparable else None


def area(errors):
    """None marks a pair with a time that is N/A."""
    largest = max((e for e in errors if e is not None), default=0.0)
    filled = [largest + 1 if e is None else e for e in errors]
    logs = sorted(x for x in map(math.log1p, filled) if x < SIXTY_YEARS)
    if len(logs) < 2 or logs[-1] == logs[0]:
        return None
    total, before = 0.0, 0.0
    for i, x in enumerate(logs):
        total += (x - before) * (i + 1) / len(filled)
        before = x
    return total / (logs[-1] - logs[0])


def evaluate(cases, match, concordance):
    matched = [match(case) for case in cases]
    table = []
    for threshold in THRESHOLDS:
        n_kept, n_ref, concordances, errors = 0, 0, [], []
        for case, pairs in zip(cases, matched):
            kept = [pair for pair in pairs if pair[0] < threshold]
            n_kept += len(kept)
            n_ref += case["n_ref"]
            times = []
            for _, r, p in kept:
                ref, pred = case["t_ref"][r], case["t_pred"][p]
                errors.append(None if ref is None or pred is None else abs(pred - ref))
                times.append((MISSING_HOURS if ref is None else ref, MISSING_HOURS if pred is None else pred))
            value = concordance(times)
            if value is not None:
                concordances.append(value)
        mean = statistics.fmean(concordances) if concordances else None
        median = statistics.median(concordances) if concordances else None
        table.append([n_kept / n_ref, mean, median, area(errors)])
    return table


def main():
    cases = json.load(open(sys.argv[1]))["cases"]
    for case in cases:
        case["matrix"] = np.array(case["distances"]).reshape(case["n_ref"], case["n_pred"])
    forms = {"loops": (match_loops, concordance_loops), "numpy": (match_numpy, concordance_numpy)}
    started = time.perf_counter()
    table = evaluate(cases, *forms[sys.argv[2]])
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "table": table}))


if __name__ == "__main__":
    main()
