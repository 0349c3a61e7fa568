#!/usr/bin/env python3
"""Turn the written judgements of the sample study into batch replies.

Reads games.json (judgements in source terms) and the index that `assize requests`
writes beside a batch, and prints one result line per request in the OpenAI batch
result format. No model is involved, and only the standard library is needed.

The index decides which source is A and which is B, so the same judgements serve
either order. Rows of a later attempt are left unanswered: the written reply to the
first attempt is valid, so a retry never has to be served.
"""

import argparse
import csv
import json
import sys

INDEX_COLUMNS = ("custom_id", "case", "source_a", "source_b", "attempt")
MODEL = "written-replies"
NEUTRAL = {"both": "BOTH", "neither": "NEITHER", "unclear": "UNCLEAR"}
MATCHED = ("TIMING", "VALUE", "SHARED_UNSUPPORTED")


class InputError(Exception):
    """A file that cannot be used; the message says what was expected."""


def load_games(path):
    """Games by (case, unordered pair of sources)."""
    try:
        with open(path, encoding="utf-8") as handle:
            games = json.load(handle)
        by_pair = {(game["case"], frozenset(game["sources"])): game for game in games}
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(
            f"expected a JSON list of games with case, sources and findings, got {problem!r} in {path}"
        ) from problem
    if len(by_pair) != len(games):
        raise InputError(f"expected one game for each case and pair, got a repeated one in {path}")
    return by_pair


def load_index(path):
    """Index rows of the first attempt, in file order."""
    with open(path, encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = [name for name in INDEX_COLUMNS if name not in (reader.fieldnames or [])]
        if missing:
            raise InputError(
                f"expected the columns {', '.join(INDEX_COLUMNS)}, got none named "
                f"{', '.join(missing)} in {path}; was it written by `assize requests`?"
            )
        return [row for row in reader if row["attempt"] == "1"]


def reply_finding(finding, source_a, source_b):
    """One finding in terms of A and B."""
    row_a, row_b = finding["rows"][source_a], finding["rows"][source_b]
    kind = finding["kind"]
    if kind == "ONLY":
        if (row_a is None) == (row_b is None):
            raise InputError("expected exactly one row in a finding of kind ONLY")
        kind = "B_ONLY" if row_a is None else "A_ONLY"
    elif kind in MATCHED:
        if row_a is None or row_b is None:
            raise InputError(f"expected two rows in a finding of kind {kind}")
    elif kind != "DUPLICATE":
        raise InputError(f"expected a known kind of finding, got {kind!r}")
    favours = finding["favours"]
    verdicts = {source_a: "A", source_b: "B", **NEUTRAL}
    if favours not in verdicts:
        raise InputError(f"expected a source of the game or a neutral verdict, got {favours!r}")
    return {
        "type": kind,
        "a_row": row_a,
        "b_row": row_b,
        "polarity": finding["polarity"],
        "evidence": finding["evidence"],
        "rationale": finding["rationale"],
        "verdict": verdicts[favours],
    }


def reply_line(number, row, games):
    """The batch result of one request, as a JSON line."""
    case, source_a, source_b = row["case"], row["source_a"], row["source_b"]
    game = games.get((case, frozenset((source_a, source_b))))
    if game is None:
        raise InputError(f"expected a written game for {case}, {source_a} and {source_b}, got none")
    try:
        findings = [reply_finding(each, source_a, source_b) for each in game["findings"]]
    except (InputError, KeyError) as problem:
        raise InputError(f"{case}, {source_a} and {source_b}: {problem}") from problem
    content = compact({"findings": findings})
    return compact(
        {
            "id": f"batch-req-{number}",
            "custom_id": row["custom_id"],
            "response": {
                "status_code": 200,
                "request_id": f"written-{number}",
                "body": {
                    "id": f"written-{number}",
                    "object": "chat.completion",
                    "model": MODEL,
                    "choices": [
                        {
                            "index": 0,
                            "message": {"role": "assistant", "content": content},
                            "finish_reason": "stop",
                        }
                    ],
                    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
                },
            },
            "error": None,
        }
    )


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(
        description="Answer the first attempt of every request of the sample study with the "
        "written judgements, in OpenAI batch result format (JSON lines, UTF-8).",
        epilog="example: assize requests STUDY --index index.csv > batch.jsonl; "
        "python3 make_replies.py games.json index.csv --output replies.jsonl",
    )
    parser.add_argument("games", help="written judgements (games.json)")
    parser.add_argument("index", help="index of the batch: CSV with " + ", ".join(INDEX_COLUMNS))
    parser.add_argument("--output", metavar="FILE", help="where to write (standard output if left out)")
    options = parser.parse_args()
    try:
        games = load_games(options.games)
        index = load_index(options.index)
        lines = [reply_line(number, row, games) for number, row in enumerate(index, start=1)]
        text = "".join(line + "\n" for line in lines).encode("utf-8")
        if options.output:
            with open(options.output, "wb") as handle:
                handle.write(text)
        else:
            sys.stdout.buffer.write(text)
    except (InputError, OSError, UnicodeDecodeError) as problem:
        print(f"make_replies: {problem}", file=sys.stderr)
        return 2
    print(f"make_replies: {len(lines)} replies written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
