#!/bin/sh
# Makes the virtual environment of the Python peers: setup.sh FOLDER. Does nothing when it is there.
set -eu
folder=$1
if [ ! -x "$folder/bin/python" ] || ! "$folder/bin/python" -c "import choix, numpy" 2>/dev/null; then
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet choix==0.4.1 numpy
fi
"$folder/bin/python" -c 'import choix, numpy, sys; from importlib.metadata import version
print("Python", sys.version.split()[0], "choix", version("choix"), "numpy", version("numpy"))'
