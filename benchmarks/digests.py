"""Digests of results, to check that a change of the code does not change results.

`freeze` writes benchmarks/results/digests.json from two trees: the demo (``make demo``, and the targets that `DEMO`
names) and every table and figure of the paper on small clips (``make paper-small``). `compare` lists the results that
differ from this record, or are missing.

    python benchmarks/digests.py compare [--demo results] [--paper results/paper-small/results]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

RECORD = Path(__file__).parent / "results" / "digests.json"
#: Results of the demo, as method/decoder.
DEMO = (
    "rgwot/graphcut",
    "rgwot-plus/consensus",
    "whitened/kmeans",
    "whitened/meanfield",
    "raw/kmeans",
    "raw/graphcut",
    "none/one_label",
    "none/uniform",
    "none/random",
)
#: Tables of measured time, which differ from run to run.
MEASURED = ("runtime",)


def digest(content: bytes) -> str:
    """Return the first 16 digits of a SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def of_demo(results: Path) -> Iterator[tuple[str, str]]:
    """Yield name and digest of the scores, segments and procedures of the demo, without the ids in them."""
    for name in DEMO:
        place = Path(name) / "demo" / "assembly"
        for scores in sorted((results / "scores" / place).glob("seed*.csv")):
            frame = pd.read_csv(scores, dtype=str, keep_default_na=False).drop(columns=["method", "decoder"])
            yield f"demo/{name}/{scores.stem}/scores.csv", digest(frame.to_csv(index=False).encode())
        for folder in sorted((results / "keysteps" / place).glob("seed*")):
            for file in ("segments.csv", "order.csv", "procedure.json", "deviations.csv"):
                yield f"demo/{name}/{folder.name}/{file}", digest((folder / file).read_bytes())


def of_tables(folder: Path, where: str) -> Iterator[tuple[str, str]]:
    """Yield name and digest of every row of the tables of a folder, and of their columns."""
    for path in sorted(folder.glob("*.csv")):
        if path.stem in MEASURED:
            continue
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        yield f"{where}/{path.stem}", digest(",".join(frame.columns).encode())
        key = frame.columns[0]
        for row, lines in frame.groupby(key, sort=False):
            yield f"{where}/{path.stem}/{row}", digest(lines.to_csv(index=False).encode())


def of_figures(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and digest of the pixels of every figure."""
    for path in sorted(folder.rglob("*.png")):
        with Image.open(path) as picture:
            yield f"paper/figures/{path.relative_to(folder)}", digest(np.asarray(picture.convert("RGB")).tobytes())


def digests(demo: Path, paper: Path) -> dict[str, str]:
    """Return the digests of both trees by name."""
    found = [*of_demo(demo), *of_tables(demo / "tables", "demo/tables")]
    return dict([*found, *of_tables(paper / "tables", "paper/tables"), *of_figures(paper / "figures")])


def main() -> None:
    """Freeze or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["freeze", "compare"])
    parser.add_argument("--demo", type=Path, default=Path("results"), help="results of the demo")
    parser.add_argument("--paper", type=Path, default=Path("results/paper-small/results"), help="of make paper-small")
    options = parser.parse_args()
    if options.action == "freeze":
        found = digests(options.demo, options.paper)
        RECORD.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{len(found)} digests")
        return
    found, frozen = digests(options.demo, options.paper), json.loads(RECORD.read_text(encoding="utf-8"))
    for name in sorted(frozen.keys() | found.keys()):
        if frozen.get(name) != found.get(name):
            print("missing  " if name not in found else "new      " if name not in frozen else "different", name)
    same = sum(found.get(name) == value for name, value in frozen.items())
    print(f"{same} of {len(frozen)} as frozen")
    sys.exit(same < len(frozen))


if __name__ == "__main__":
    main()
