#!/usr/bin/env python3
"""Peer of the Bradley-Terry bootstrap: the same games and resamples through choix (`pip install choix numpy`).

Usage: bt_choix.py GAMES.json N_RESAMPLES
GAMES.json: {"entrants": n, "cases": n, "games": [[case, a, b, share_a], ...], "indices": [[case, ...], ...]}
Prints one JSON object: seconds and the ratings of the first resample.
"""

import json
import math
import sys
import time

import choix
import numpy as np


def ratings(games, n):
    won = np.zeros((n, n))
    for _, a, b, share in games:
        won[a, b] += share
        won[b, a] += 1 - share
    beta = choix.ilsr_pairwise_dense(won, alpha=0, tol=1e-10)
    return 1500 + 400 / math.log(10) * (beta - beta.mean())


def main():
    data = json.load(open(sys.argv[1]))
    n_resamples = int(sys.argv[2])
    by_case = {}
    for game in data["games"]:
        by_case.setdefault(game[0], []).append(game)
    started = time.perf_counter()
    first = None
    for indices in data["indices"][:n_resamples]:
        drawn = [game for case in indices for game in by_case.get(case, [])]
        value = ratings(drawn, data["entrants"])
        first = value if first is None else first
    print(json.dumps({"peer": "choix " + getattr(choix, "__version__", "?"), "n_resamples": n_resamples,
                      "seconds": time.perf_counter() - started, "first": list(first)}))


if __name__ == "__main__":
    main()
