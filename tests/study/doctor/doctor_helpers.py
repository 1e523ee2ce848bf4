"""What the tests of the doctor share: configurations, files and the findings of a report."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from rgwot.cli import cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "annotations"


def entry(root: Path | str, layout: str = "folder", **more: Any) -> dict[str, Any]:
    return {"layout": layout, "root": str(root), "settings": {"features": {"weights": "random"}}, **more}


def content(**datasets: dict[str, Any]) -> dict[str, Any]:
    return {"device": "cpu", "datasets": datasets}


def run(folder: Path, *arguments: str, **datasets: dict[str, Any]) -> tuple[int, str, str]:
    (folder / "config.yaml").write_text(yaml.safe_dump(content(**datasets)), encoding="utf-8")
    result = CliRunner().invoke(cli, ["doctor", *arguments, "--config", str(folder / "config.yaml"), "--jobs", "2"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def said(report: Any, **wanted: Any) -> list[str]:
    """Return the messages of the findings with these attributes."""
    return [one.message for one in report.findings if all(getattr(one, key) == value for key, value in wanted.items())]


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def cases(kind: str) -> list[dict[str, str]]:
    with (FIXTURES / "cases.csv").open(encoding="utf-8", newline="") as stream:
        return [case for case in csv.DictReader(stream) if case["kind"] == kind and "malformed" in case["path"]]


def crosstask(root: Path, n_videos: int, steps: str = "pour,stir") -> None:
    block = f"990001\nMake it\nhttp://x\n{steps.count(',') + 1}\n{steps}\n"
    put(root / "crosstask_release" / "tasks_primary.txt", block.encode())
    for number in range(n_videos):
        name = f"{number:011d}"
        put(root / "videos" / "990001" / f"{name}.mp4", b"")
        put(root / "crosstask_release" / "annotations" / f"990001_{name}.csv", b"1,0.5,2\n2,2,3.5\n1,4,5\n")
