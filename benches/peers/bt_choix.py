#!/usr/bin/env python3
"""Peer of the Bradley-Terry bootstrap: the same games and resamples through choix, with its default tolerance.

Usage: bt_choix.py INPUT.json
INPUT: {"n_entrants": n, "n_cases": n, "games": [[case, a, b, share_a], ...], "resamples": [[case, ...], ...]}
Prints one JSON object: seconds, and the ratings of every resample.
"""

import json
import math
import sys
import time

import choix
import numpy as np


def main():
    data = json.load(open(sys.argv[1]))
    n = data["n_entrants"]
    started = time.perf_counter()
    won = np.zeros((data["n_cases"], n, n))
    for case, a, b, share in data["games"]:
        won[case, a, b] += share
        won[case, b, a] += 1 - share
    ratings = []
    for resample in data["resamples"]:
        beta = choix.ilsr_pairwise_dense(won[resample].sum(axis=0), alpha=0.0)
        ratings.append(1500 + 400 / math.log(10) * (beta - beta.mean()))
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "ratings": np.array(ratings).tolist()}))


if __name__ == "__main__":
    main()
