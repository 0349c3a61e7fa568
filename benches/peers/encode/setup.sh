#!/bin/sh
# Makes the virtual environment of the encoding peers: setup.sh FOLDER. Does nothing when it is there.
set -eu
folder=$1
if ! "$folder/bin/python" -c "import sentence_transformers, fastembed, onnxruntime, onnx" 2>/dev/null; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --only-binary :all: torch sentence-transformers fastembed onnxruntime onnx onnxscript
fi
"$folder/bin/python" -c 'from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in ("torch", "sentence-transformers", "fastembed", "onnxruntime")), sep=", ")'
