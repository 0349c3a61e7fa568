#!/bin/sh
# Runs the benches and keeps their raw output: run.sh [STRINGS.txt]. With a text file of event strings the corpus of 30,000 to 120,000
# cases is measured too. Nothing else should run on the machine meanwhile.
set -eu
cd "$(dirname "$0")/.."
out=benches/runs/$(date +%Y-%m-%d)
mkdir -p "$out"
sh benches/peers/setup.sh .peers/python > "$out/measures-machine.txt"
{
    grep -m1 'model name' /proc/cpuinfo
    printf 'cores: %s\n' "$(nproc)"
    rustc --version
    git rev-parse HEAD
} >> "$out/measures-machine.txt"
# Each run stands alone.
rm -rf target/criterion
for bench in against_python ratings matching; do
    cargo bench --locked --bench $bench 2> /dev/null | tee "$out/$bench.txt"
done
# Peak memory of one case of 5,000 x 5,000, the 200 MB of distances included.
python3 - target/release/deps/matching-* > "$out/peak_memory.txt" <<'PYTHON'
import os, resource, subprocess, sys
binary = max((f for f in sys.argv[1:] if os.access(f, os.X_OK)), key=os.path.getmtime)
subprocess.run([binary, "--bench", "--profile-time", "1", "5000x5000/"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print("matching 5000x5000, all shapes, peak resident:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, "MiB")
PYTHON
cat "$out/peak_memory.txt"
if [ $# -gt 0 ]; then
    cargo build --release --locked --quiet
    python3 benches/corpus.py "$1" | tee "$out/corpus.txt"
fi
echo "raw output: $out"
