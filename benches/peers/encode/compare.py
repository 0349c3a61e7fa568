#!/usr/bin/env python3
"""Embedding by `assize embed` beside sentence-transformers, onnxruntime and fastembed: same weights, texts and threads, in turns.

compare.py --assize target/release/assize --model DIR --texts FILE --out FOLDER [--threads 2] [--rounds 3]
With the Python of setup.sh. Each setting runs once a round; the table has the fastest and the median of the rounds. Assize's time is
that of the whole run without loading (it says so itself), with storing and writing the vectors. FOLDER gets every line that a run printed,
and the largest difference between the vectors of each peer and ours.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PEER = Path(__file__).with_name("peer.py")
SETTINGS = [("onnxruntime", 8), ("onnxruntime", 32), ("fastembed", 8), ("fastembed", 256), ("sentence-transformers", 32), ("sentence-transformers", 8)]


def run_assize(args, folder):
    out = Path(folder) / "assize.npy"
    command = [args.assize, "embed", "--model", args.model, "--input", args.texts, "--out", out, "--threads", args.threads]
    command += ["--store", Path(folder) / "store", "--max-tokens", args.max_tokens, "--format", "txt"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    seconds = float(re.search(r"texts embedded in ([\d.]+) s", done.stderr).group(1))
    return {"peer": "assize", "batch": None, "seconds": seconds, "stderr": done.stderr}, np.load(out)


def run_peer(args, peer, batch, folder):
    out = Path(folder) / "peer.npy"
    command = [sys.executable, PEER, peer, "--model", args.model, "--texts", args.texts, "--threads", args.threads, "--batch", batch]
    command += ["--max-tokens", args.max_tokens, "--out", out]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1]), np.load(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assize", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.out.mkdir(parents=True)
    n_texts = len(Path(args.texts).read_text(encoding="utf-8").splitlines())
    times, differences, raw = {}, {}, []
    for round_ in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            row, ours = run_assize(args, folder)
            raw.append(row)
            times.setdefault(("assize", None), []).append(row["seconds"])
            for peer, batch in SETTINGS:
                try:
                    row, vectors = run_peer(args, peer, batch, folder)
                except subprocess.CalledProcessError as error:
                    raw.append({"peer": peer, "batch": batch, "failed": error.stderr[-2000:]})
                    continue
                raw.append(row)
                times.setdefault((peer, batch), []).append(row["seconds"])
                differences[peer] = float(np.abs(vectors - ours).max())
    ours = statistics.median(times[("assize", None)])
    lines = [f"{n_texts} texts, {args.threads} threads, {args.rounds} rounds in turns; ratio: median over ours"]
    for (peer, batch), seconds in times.items():
        name = peer if batch is None else f"{peer}, batches of {batch}"
        median = statistics.median(seconds)
        difference = f", vectors differ by at most {differences[peer]:.1e}" if peer in differences else ""
        lines.append(f"{name:40} median {median:7.2f} s, best {min(seconds):7.2f} s, {n_texts / median:7.0f} texts/s, ratio {median / ours:5.2f}{difference}")
    print("\n".join(lines))
    (args.out / "comparison.json").write_text(json.dumps(raw, indent=1) + "\n")
    (args.out / "comparison.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
