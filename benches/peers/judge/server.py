#!/usr/bin/env python3
"""Runs a batch of chat requests through llama.cpp's HTTP server, with as many requests in flight as the server has slots.

The server is the one that `llama-server` starts, taken from the PyPI package xllamacpp: it listens on 127.0.0.1 inside this process,
with its prompt cache on, flash attention on automatic and every other setting as `llama-server` has it. Its context is split evenly,
`--context` tokens a slot (`--parallel N --ctx-size N*C`); with --unified the slots share one pool and idle slots are kept in memory,
which is what `llama-server` does when nobody says how many slots it shall have.
Request bodies are sent as they stand in the batch (one line of OpenAI-batch JSONL each).

Usage: server.py --gguf FILE --batch BATCH.jsonl --out FILE.json [--slots 4] [--speculation ngram-mod] [--order prefix] ...
Writes {"settings", "summary", "metrics", "requests"}; the last line of stdout is the summary. The server's log goes to stderr.
The wall time is from the first request sent to the last reply read; loading and warm-up are `load_s`.
"""

import argparse
import json
import resource
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import xllamacpp

SPECULATION = {
    "none": "NONE",
    "ngram-simple": "NGRAM_SIMPLE",
    "ngram-map-k": "NGRAM_MAP_K",
    "ngram-map-k4v": "NGRAM_MAP_K4V",
    "ngram-mod": "NGRAM_MOD",  # with the defaults that --spec-default sets
    "ngram-cache": "NGRAM_CACHE",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--batch", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--slots", type=int, default=1, help="also the number of requests in flight")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=8192, help="tokens of each slot")
    parser.add_argument("--unified", action="store_true", help="slots share one pool of slots * context tokens")
    parser.add_argument("--speculation", choices=SPECULATION, default="none")
    parser.add_argument("--order", choices=["arrival", "prefix"], default="arrival", help="prefix: sorted by the rendered prompt")
    parser.add_argument("--limit", type=int, help="only the first requests of the batch")
    return parser.parse_args()


def start(args):
    params = xllamacpp.CommonParams()
    params.model.path = args.gguf
    params.n_parallel = args.slots
    params.n_ctx = args.slots * args.context
    params.kv_unified = args.unified
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    # A request holds one of these until its reply is complete; they wait and do not compute. One more for /metrics.
    params.n_threads_http = args.slots + 1
    params.endpoint_metrics = True
    kind = getattr(xllamacpp.common_speculative_type, "COMMON_SPECULATIVE_TYPE_" + SPECULATION[args.speculation])
    params.speculative.types = [kind]
    return xllamacpp.Server(params)


def call(url, body=None):
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return response.read()


def ask(server, line, started):
    """Sends one request; its row."""
    sent = time.perf_counter()
    row = {"custom_id": line["custom_id"], "sent_s": sent - started}
    try:
        reply = json.loads(call(server.listening_address + line["url"], line["body"]))
    except urllib.error.HTTPError as error:
        return row | {"latency_s": time.perf_counter() - sent, "error": f"{error.code}: {error.read().decode()}"}
    latency = time.perf_counter() - sent
    choice, usage, timings = reply["choices"][0], reply["usage"], reply["timings"]
    return row | {
        "latency_s": latency,
        "prompt_tokens": usage["prompt_tokens"],
        "cached_tokens": usage["prompt_tokens_details"]["cached_tokens"],
        "computed_tokens": timings["prompt_n"],
        "reply_tokens": usage["completion_tokens"],
        "drafted_tokens": timings.get("draft_n", 0),
        "accepted_tokens": timings.get("draft_n_accepted", 0),
        "finish_reason": choice["finish_reason"],
        "reply": choice["message"]["content"],
        "timings": timings,
    }


def run(server, lines, slots):
    """All rows in the order sent, and the wall time."""
    rows, queue, lock = {}, iter(enumerate(lines)), threading.Lock()
    started = time.perf_counter()

    def client():
        while True:
            with lock:
                i, line = next(queue, (None, None))
            if line is None:
                return
            rows[i] = ask(server, line, started)

    clients = [threading.Thread(target=client) for _ in range(slots)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    wall = time.perf_counter() - started
    if len(rows) < len(lines):
        sys.exit("a client stopped before its requests were answered")
    return [rows[i] for i in range(len(lines))], wall


def metrics(server):
    lines = call(server.listening_address + "/metrics").decode().splitlines()
    pairs = (line.removeprefix("llamacpp:").rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    args = arguments()
    with open(args.batch, encoding="utf-8") as batch:
        lines = [json.loads(line) for line in batch if line.strip()][: args.limit]
    loading = time.perf_counter()
    server = start(args)
    load = time.perf_counter() - loading
    if args.order == "prefix":
        render = server.listening_address + "/apply-template"
        lines.sort(key=lambda line: json.loads(call(render, {"messages": line["body"]["messages"]}))["prompt"])
    cpu = cpu_seconds()
    rows, wall = run(server, lines, args.slots)
    cpu = cpu_seconds() - cpu
    answered = [row for row in rows if "error" not in row]
    summary = {"wall_s": wall, "load_s": load, "cpu_s": cpu, "requests": len(rows), "errors": len(rows) - len(answered)}
    for name in ("prompt_tokens", "cached_tokens", "computed_tokens", "reply_tokens", "drafted_tokens", "accepted_tokens"):
        summary[name] = sum(row[name] for row in answered)
    summary["cut_at_limit"] = sum(row["finish_reason"] == "length" for row in answered)
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()}
    settings |= {"xllamacpp": xllamacpp.__version__, "system": xllamacpp.get_system_info()}
    record = {"settings": settings, "summary": summary, "metrics": metrics(server), "requests": rows}
    args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(summary))
    if summary["errors"]:
        sys.exit(f"{summary['errors']} requests were refused: see `error` in {args.out}")


if __name__ == "__main__":
    main()
