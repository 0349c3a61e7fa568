#!/usr/bin/env bash
# Judges a slice of real case reports with the default judge, where such data lie beside the checkout:
#   real_slice.sh WORK_FOLDER "CASE CASE ..." "SOURCE SOURCE ..." [argument of assize run ...]
# Without the data it says so and ends well.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
data="$top/../shared/data/t2s2/sepsis-10"
work=$1 cases=$2 sources=$3
shift 3
if [ ! -d "$data" ]; then
    echo "skipped: real slice needs case reports in $(basename "$(dirname "$data")")/$(basename "$data"), which are not here"
    exit 0
fi
mkdir -p "$work"
{
    printf '[study]\nname = "sepsis-10 slice"\n\n[reports]\ndir = "%s/body"\nsuffix = "_body.txt"\n' "$data"
    for source in $sources; do
        printf '\n[[source]]\nname = "%s"\ndir = "%s/%s"\nformat = "bsv"\nsuffix = "_body.bsv"\n' "$source" "$data" "$source"
    done
    printf '\n[cases]\ninclude = ['
    for case in $cases; do printf '"%s", ' "$case"; done
    printf ']\nmax_report_bytes = 14000\non_missing_timeline = "skip_games"\n'
    printf '\n[input]\non_bad_row = "skip"\non_empty_timeline = "keep"\n'
    printf '\n[judge]\ncard = "smollm2-135m-instruct"\nmodel_dir = "%s/.models"\nnumerics = "fast"\n' "$top"
    printf 'max_findings = 3\nmax_reply_tokens = 700\nmax_attempts = 1\n'
} > "$work/study.toml"
"$top/target/release/assize" check "$work"
status=0
"$top/target/release/assize" run "$work" "$@" || status=$?
# A small judge may fail a game (4): the tables count it. Anything else is a defect.
[ "$status" = 0 ] || [ "$status" = 4 ]
