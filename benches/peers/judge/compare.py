#!/usr/bin/env python3
"""Judging by `assize run` against llama.cpp's HTTP server under a concurrent client: same weights, prompts, threads, limits and schemas.

Screens the server's settings on the first requests of the batch: one slot fed in prefix order and 2, 4 and 8 slots, without speculation
and with the server's own choice of n-grams; then the other kinds at one slot, and 4 slots on a shared pool (its default).
Then runs our command, the fastest setting of several slots and the fastest of one slot on the whole batch, twice, in turns
(ours and the fastest change places). Several slots take the prompts as they arrive; one slot takes them sorted.
Runs come one at a time. Whatever does not fit into the budget is skipped and listed.

Usage, with the Python of setup.sh:
  compare.py --gguf FILE --batch BATCH.jsonl --out FOLDER --record '{run}/store/runs/*.json' \
      --assize 'assize run STUDY --numerics fast --threads 2 --store {run}/store --results {run}/results'
`{run}` stands for an empty folder of the run at hand. The record is what `assize run` keeps beside its store: `wall_s`, `threads` and
`stats` (items_computed, prompt_tokens, reused_tokens, reply_tokens); its wall time has no loading in it, as the server's has none.
BATCH.jsonl is what `assize requests STUDY` prints. It holds first tries only: use a study with `max_attempts = 1`, or the requests differ.
Reply tokens differ too: the server lets the model write white space between the parts of its JSON, `assize` does not.

FOLDER gets, for each run, its record (NAME.json) and its output (NAME.log), and comparison.json with everything that is printed.
`others` in the table is the processor time that went to other processes meanwhile; it should be near nothing.
"""

import argparse
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")
SPECULATION = ["ngram-mod", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-cache"]  # the first is what --spec-default sets
SCREENING_SHARE = 0.45  # of the budget


class Skipped(Exception):
    pass


def machine_cpu():
    """Processor seconds of all processes since the machine was started."""
    user, nice, system, _idle, _wait, irq, softirq = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def supervised(command, log, seconds):
    """Runs a command to its end, or ends it with all that it started; exit code and processor seconds of other processes."""
    if seconds <= 0:
        raise Skipped("no time left")
    all_before, own_before = machine_cpu(), children_cpu()
    with open(log, "w") as output:
        shell = isinstance(command, str)
        process = subprocess.Popen(command, shell=shell, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Skipped(f"ended after {seconds:.0f} s: out of time") from error
            raise
    return code, machine_cpu() - all_before - (children_cpu() - own_before)


def run_server(args, name, setting, limit, seconds):
    out = args.out / f"{name}.json"
    command = [sys.executable, SERVER, "--gguf", args.gguf, "--batch", args.batch, "--out", out]
    command += ["--threads", str(args.threads), "--context", str(args.context), *setting]
    command += ["--limit", str(limit)] if limit else []
    code, others = supervised(list(map(str, command)), args.out / f"{name}.log", seconds)
    if code != 0:
        raise Skipped(f"exit code {code}: see {name}.log")
    summary = json.loads(out.read_text())["summary"]
    return {
        "name": name,
        "wall_s": summary["wall_s"],
        "requests": summary["requests"],
        "submitted": summary["prompt_tokens"],
        "computed": summary["computed_tokens"],
        "reply": summary["reply_tokens"],
        "others_s": others,
    }


def run_assize(args, name, seconds):
    folder = args.out / name
    folder.mkdir()
    code, others = supervised(args.assize.replace("{run}", str(folder)), args.out / f"{name}.log", seconds)
    records = glob.glob(args.record.replace("{run}", str(folder)))
    if len(records) != 1:
        raise Skipped(f"exit code {code}, {len(records)} records where one is expected: see {name}.log")
    shutil.copy(records[0], args.out / f"{name}.json")
    record = json.loads(Path(records[0]).read_text())
    if record["threads"] != args.threads:
        raise Skipped(f"ran on {record['threads']} threads, the server on {args.threads}")
    stats = record["stats"]
    if stats["items_replayed"]:
        raise Skipped(f"{stats['items_replayed']} replies were on record already: give each run a store of its own, with {{run}}")
    return {
        "name": name,
        "wall_s": record["wall_s"],
        "requests": stats["items_computed"],
        "submitted": stats["prompt_tokens"],
        "computed": stats["prompt_tokens"] - stats["reused_tokens"],
        "reply": stats["reply_tokens"],
        "others_s": others,
    }


def title(setting):
    words = [word.removeprefix("--") for word in setting]
    return "-".join(["server", *(word for word in words if word not in ("speculation", "order"))])


def screen(args, deadline, skipped):
    """Server settings with their rows, fastest first."""
    rows = []

    def attempt(*setting):
        name = "screen-" + title(setting)
        try:
            row = run_server(args, name, setting, args.screen, deadline - time.monotonic())
        except Skipped as reason:
            skipped.append(f"{name}: {reason}")
            return None
        print(f"{name}: {row['wall_s']:.1f} s", flush=True)
        rows.append((row, setting))
        return row

    one = ("--slots", "1", "--order", "prefix")
    settings = [one, *(("--slots", slots) for slots in ("2", "4", "8"))]
    for speculation in ((), ("--speculation", SPECULATION[0])):
        for setting in settings:
            attempt(*setting, *speculation)
    for kind in SPECULATION[1:]:
        attempt(*one, "--speculation", kind)
    attempt("--slots", "4", "--unified")
    return sorted(rows, key=lambda pair: pair[0]["wall_s"])


def finalists(screened):
    """The fastest setting of several slots and the fastest of one slot, faster first."""
    several = [pair for pair in screened if pair[1][:2] != ("--slots", "1")]
    one = [pair for pair in screened if pair[1][:2] == ("--slots", "1")]
    return sorted(several[:1] + one[:1], key=lambda pair: pair[0]["wall_s"])


def full_runs(args, best, n_requests, deadline, skipped):
    """Rows of the whole batch: ours and each of the best settings, twice."""
    rows, walls = [], {}
    for row, setting in best:
        walls[title(setting)] = row["wall_s"] / row["requests"] * n_requests
    servers = [(title(setting), setting) for _, setting in best]
    ours = [("assize", None)]
    for turn, runs in ((1, ours + servers), (2, servers[:1] + ours + servers[1:])):
        for name, setting in runs:
            numbered = f"{name}-{turn}"
            left = deadline - time.monotonic()
            try:
                if walls.get(name, 0) > left:
                    raise Skipped(f"would take about {walls[name]:.0f} s, {max(left, 0):.0f} s are left")
                row = run_server(args, numbered, setting, None, left) if setting else run_assize(args, numbered, left)
            except Skipped as reason:
                skipped.append(f"{numbered}: {reason}")
                continue
            walls[name] = row["wall_s"]
            print(f"{numbered}: {row['wall_s']:.1f} s", flush=True)
            rows.append(row)
    return rows


def table(rows, reference):
    """Text of a table; `reference` is the wall time that counts as 1."""
    lines = [("run", "wall s", "ratio", "requests", "submitted", "computed", "ratio", "reply", "reply/s", "computed+reply/s", "others s")]
    for row in rows:
        lines.append((
            row["name"],
            f"{row['wall_s']:.1f}",
            f"{row['wall_s'] / reference:.2f}" if reference else "-",
            str(row["requests"]),
            str(row["submitted"]),
            str(row["computed"]),
            f"{row['submitted'] / row['computed']:.2f}",
            str(row["reply"]),
            f"{row['reply'] / row['wall_s']:.1f}",
            f"{(row['computed'] + row['reply']) / row['wall_s']:.1f}",
            f"{row['others_s']:.0f}",
        ))
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths))) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--batch", required=True)
    parser.add_argument("--assize", required=True, help="shell command that runs our side")
    parser.add_argument("--record", required=True, help="pattern of the JSON record that it leaves")
    parser.add_argument("--out", required=True, type=Path, help="folder for everything raw; must not exist")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=8192, help="tokens of each server slot")
    parser.add_argument("--screen", type=int, default=3, help="requests of a screening run")
    parser.add_argument("--budget-minutes", type=float, default=45)
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True)
    n_requests = sum(bool(line.strip()) for line in Path(args.batch).read_text(encoding="utf-8").splitlines())

    started, skipped = time.monotonic(), []
    budget = 60 * args.budget_minutes
    screened = screen(args, started + SCREENING_SHARE * budget, skipped)
    rows = full_runs(args, finalists(screened), n_requests, started + budget, skipped)

    ours = [row["wall_s"] for row in rows if row["name"].startswith("assize-")]
    screening_rows = [row for row, _ in screened]
    report = [f"Screening, first {args.screen} requests (ratio: to the fastest)"]
    report += [table(screening_rows, screening_rows[0]["wall_s"] if screened else None), ""]
    report += [f"Whole batch, {n_requests} requests (ratio: to the mean of ours)"]
    report += [table(rows, sum(ours) / len(ours) if ours else None)]
    if len({row["requests"] for row in rows}) > 1:
        report += ["", "The runs did not answer the same number of requests: compare tokens a second, not wall times."]
    report += ["", *(f"skipped: {line}" for line in skipped)]
    print("\n" + "\n".join(report))
    record = {"arguments": {name: str(value) for name, value in vars(args).items()}, "screening": screening_rows, "full": rows, "skipped": skipped}
    (args.out / "comparison.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
