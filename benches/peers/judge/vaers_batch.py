#!/usr/bin/env python3
"""A batch of chat requests from VAERS reports: each narrative with its listed symptoms, to be put into stages in order of time.

Usage: vaers_batch.py DATA.csv SYMPTOMS.csv [--reports 40] > batch.jsonl
Takes the first reports by VAERS_ID whose narrative has 600 to 4,000 characters and at least four listed symptoms. The instructions come
first, then the narrative, then the symptoms, so that requests share what they have in common. Replies are JSON of at most 256 tokens.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict

INSTRUCTIONS = """Below are a report of what happened to a person after a vaccination and a list of symptoms that it names.
Sort the symptoms into stages by the time at which they began: the first stage holds what began first, and symptoms that began together
stand in the same stage. Use every symptom of the list exactly once, spelled as in the list, and no other. Where the report does not say
when a symptom began, put it where it is most likely to belong. Answer with a JSON object whose field "stages" is a list of stages, each a
list of symptoms."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("symptoms")
    parser.add_argument("--reports", type=int, default=40)
    args = parser.parse_args()
    listed = defaultdict(list)
    with open(args.symptoms, encoding="latin-1", newline="") as file:
        for row in csv.DictReader(file):
            for i in range(1, 6):
                symptom = (row.get(f"SYMPTOM{i}") or "").strip()
                if symptom and symptom not in listed[row["VAERS_ID"]]:
                    listed[row["VAERS_ID"]].append(symptom)
    with open(args.data, encoding="latin-1", newline="") as file:
        reports = [(int(row["VAERS_ID"]), row["SYMPTOM_TEXT"] or "") for row in csv.DictReader(file)]
    fit = [(id, text) for id, text in sorted(reports) if 600 <= len(text) <= 4000 and len(listed[str(id)]) >= 4]
    if len(fit) < args.reports:
        sys.exit(f"expected {args.reports} reports that fit, got {len(fit)}")
    for id, text in fit[: args.reports]:
        symptoms = listed[str(id)]
        stage = {"type": "array", "minItems": 1, "maxItems": len(symptoms), "items": {"enum": symptoms}}
        stages = {"type": "array", "minItems": 1, "maxItems": len(symptoms), "items": stage}
        schema = {"type": "object", "properties": {"stages": stages}, "required": ["stages"], "additionalProperties": False}
        prompt = f"{INSTRUCTIONS}\n\nREPORT\n{text}\n\nSYMPTOMS\n" + "\n".join(symptoms)
        body = {
            "model": "judge",
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 256,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": {"name": "stages", "strict": True, "schema": schema}},
        }
        print(json.dumps({"custom_id": str(id), "method": "POST", "url": "/v1/chat/completions", "body": body}))


if __name__ == "__main__":
    main()
