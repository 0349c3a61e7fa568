#!/usr/bin/env python3
"""How time and memory of `assize evaluate` grow with the corpus: cases of 50 events a side, made from the lines of a text file.

Usage: corpus.py STRINGS.txt [--sizes 30000,60000,120000] [--events 50] [--assize target/release/assize]
A fifth of the predicted events equal theirs, two fifths have words exchanged, the rest are other lines; a tenth have no time.
Prints one JSON object a size: wall seconds, peak resident bytes, matched pairs, and what each case and pair added since the size before.
"""

import argparse
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time


def predicted(event, hours, strings, draw):
    kind = draw.random()
    if kind >= 0.6:
        event = draw.choice(strings)
    elif kind >= 0.2:
        words = event.split()
        words[draw.randrange(len(words))] = draw.choice(strings).split()[0]
        event = " ".join(words)
    return event, "N/A" if draw.random() < 0.1 else hours + draw.choice([0, 0, 0, 1, -6, 24, 168])


def write_cases(folder, first, last, n_events, strings):
    for case in range(first, last):
        draw = random.Random(case)
        reference = [(draw.choice(strings), draw.randrange(-2000, 2000)) for _ in range(n_events)]
        sides = {"reference": reference, "prediction": [predicted(*event, strings, draw) for event in reference]}
        for side, rows in sides.items():
            with open(folder / side / f"case-{case:06}.csv", "w", newline="") as out:
                writer = csv.writer(out)
                writer.writerow(["event", "time"])
                writer.writerows(rows)


def run(assize, folder):
    command = [assize, "evaluate", "--reference", folder / "reference", "--prediction", folder / "prediction",
               "--out", folder / "out", "--resamples", "200", "--quiet", "--json"]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    result = json.load(process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"assize ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage, result["evaluation"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strings")
    parser.add_argument("--sizes", default="30000,60000,120000")
    parser.add_argument("--events", type=int, default=50)
    parser.add_argument("--assize", default="target/release/assize")
    args = parser.parse_args()
    lines = pathlib.Path(args.strings).read_text(encoding="utf-8").splitlines()
    strings = [line.strip() for line in lines if line.strip()]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assize-corpus-"))
    try:
        for side in ("reference", "prediction"):
            (folder / side).mkdir()
        before = None
        written = 0
        for n_cases in map(int, args.sizes.split(",")):
            write_cases(folder, written, n_cases, args.events, strings)
            written = n_cases
            wall, usage, row = run(args.assize, folder)
            peak = usage.ru_maxrss * 1024
            n_pairs = n_cases * args.events
            line = {"cases": n_cases, "pairs": n_pairs, "wall_s": round(wall, 2), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
                    "us_per_case": round(1e6 * wall / n_cases, 1), "peak_bytes": peak, "match_rate": row["match_rate"]}
            if before:
                line["added_bytes_per_case"] = round((peak - before[1]) / (n_cases - before[0]), 1)
                line["added_bytes_per_pair"] = round(line["added_bytes_per_case"] / args.events, 1)
            before = n_cases, peak
            print(json.dumps(line), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
