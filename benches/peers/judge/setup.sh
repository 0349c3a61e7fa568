#!/bin/sh
# Makes the virtual environment of the judging peer: setup.sh FOLDER. Does nothing when it is there.
# xllamacpp is llama.cpp's own HTTP server compiled as a Python module; its wheel uses AVX2, FMA and F16C, as x86-64-v3 does.
set -eu
folder=$1
version=2026.10.11549
if ! "$folder/bin/python" -c "from importlib.metadata import version; assert version('xllamacpp') == '$version'" 2>/dev/null; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --only-binary :all: "xllamacpp==$version"
fi
"$folder/bin/python" -c 'import sys, xllamacpp
print("Python", sys.version.split()[0], "xllamacpp", xllamacpp.__version__, xllamacpp.get_system_info())'
