"""The file of a bundle: a ZIP archive of arrays, a model, and a manifest that describes them.

A bundle contains no code: arrays are NumPy's without pickled objects, and the model is read with ``weights_only``.
Parts are not compressed. ``manifest.json`` (`About`) has the version of the format, and size and SHA-256 of every part;
the last 64 bytes of the file (the ZIP comment) are the SHA-256 of everything before them, so that any changed byte is
noticed. Digests do not show who made a bundle.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from rgwot import __version__, paths
from rgwot.blocks import Block, describe
from rgwot.embedding.interface import USUAL
from rgwot.names import LONGEST
from rgwot.paths import Run, name_of
from rgwot.procedure import Procedure
from rgwot.runtime.errors import RgwotError, first_line

FORMAT = 2
"""Version of the format; other versions are not read."""

SUFFIX = ".rgwot"
MANIFEST_FILE = "manifest.json"
#: Parts of a bundle: the trained encoder, or what another embedding learned; what the decoder learned; labels of known
#: videos; what known videos look like (`rgwot.bundles.likeness`).
MODEL, EMBEDDING, DECODER, ANSWERS, LIKENESS = (
    "model.pt", "embedding.npz", "decoder.npz", "answers.npz", "likeness.npz"
)  # fmt: skip
#: The procedure of the result, with which new videos are compared.
PROCEDURE_FILE = name_of(paths.PROCEDURE)
#: A result has fewer clusters than this, and a part has fewer arrays.
_MOST, _MOST_MEMBERS = 10_000, 1_000
_LARGEST_SEED = 2**63 - 1
_SEAL = hashlib.sha256().digest_size * 2
# `rgwot apply` makes folders of these names, so they have no slash, control character or leading dot.
_Part = Annotated[str, Field(pattern=r"^[^/\\.\x00-\x1f][^/\\\x00-\x1f]*$", max_length=200)]
# Names of key steps, in the same form as in `rgwot.names`; without control characters, because they are
# printed.
_Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=LONGEST)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _PartDigest(Block):
    """Size and SHA-256 of a part."""

    bytes: int
    sha256: _Digest


class FeatureKind(Block):
    """The kind of features from which the result was made.

    ``attributes`` are the attributes of stores that are needed to make or compare features; ``frame`` is (C, h, w).
    """

    attributes: dict[str, str | int | float | bool | None]
    frame: tuple[int, int, int]
    vectors: bool


class About(Block):
    """The manifest of a bundle.

    Attributes
    ----------
    format_version, rgwot_version
        Versions of the format and of the package that wrote the file.
    method, decoder, dataset, task, seed
        The result from which it was made.
    K, time, surplus
        Number of key steps, weight of time, and number of clusters beyond K (`rgwot.keysteps.extended`).
    settings
        The blocks of settings that embedding and decoder read.
    features, features_fps
        The kind of features, and their rate per second.
    names
        The names of the key steps.
    videos, held_out
        The videos from which the result was learned, and the held-out videos.
    agreement
        Share of the samples for which the rule for other videos gives the key step of the result.
    parts
        The digests of all other parts of the file.
    """

    format_version: int
    rgwot_version: str
    method: _Part
    decoder: _Part
    dataset: _Part
    task: _Part
    seed: Annotated[int, Field(ge=0, le=_LARGEST_SEED)]
    K: Annotated[int, Field(ge=1, le=_MOST)]
    time: Annotated[float, Field(ge=0, lt=1)]
    surplus: Annotated[int, Field(ge=0, le=_MOST)]
    settings: dict[str, dict[str, object]]
    features: FeatureKind
    features_fps: Annotated[float, Field(gt=0, le=1e6)]
    names: dict[Annotated[int, Field(ge=1)], _Name]
    videos: list[str]
    held_out: list[str]
    agreement: float
    parts: dict[str, _PartDigest]

    @property
    def run(self) -> Run:
        """Method, decoder and seed of the result from which the bundle was made."""
        return Run(self.method, self.decoder, self.seed)


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory: its path, SHA-256, manifest and parts."""

    path: Path
    sha256: str
    facts: About
    parts: Mapping[str, bytes]

    def arrays(self, part: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part by name; raise RgwotError unless their numbers are real and, as a rule, finite.

        There are two exceptions. `USUAL`, the usual length of a video, is NaN if it is unknown. Single numbers and
        arrays that a decoder learned may be infinite: limits can be open, and classes without samples have a score of
        minus infinity.
        """
        try:
            with np.load(io.BytesIO(self.parts[part]), allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
        except (ValueError, OSError, EOFError, LookupError, AttributeError, MemoryError, zipfile.BadZipFile) as error:
            raise self.wrong(
                f"{part}: found no readable arrays without pickled objects ({first_line(error)})"
            ) from None
        for name, array in arrays.items():
            real = array.dtype.kind in "biuf"
            endless = real and (part == DECODER or array.ndim == 0) and not np.isnan(array).any()
            unknown = real and name == USUAL and array.ndim == 0 and bool(np.isnan(array))
            if not real or not (np.isfinite(array).all() or endless or unknown):
                raise self.wrong(f"{part}: {name[:80]!r} has values that are not finite numbers")
        return arrays

    def procedure(self) -> Procedure:
        """Return the procedure of the result."""
        try:
            procedure = Procedure.from_json(json.loads(self.parts[PROCEDURE_FILE]))
        except KeyError:
            raise self.wrong("has no procedure") from None
        except (ValueError, AttributeError, RecursionError, RgwotError) as error:
            raise self.wrong(f"{PROCEDURE_FILE}: {first_line(error)}") from None
        if procedure.nodes and (last := max(node.key_step for node in procedure.nodes)) > self.facts.K:
            raise self.wrong(f"{PROCEDURE_FILE}: has key step {last}, expected at most {self.facts.K}")
        return procedure

    def wrong(self, why: str) -> RgwotError:
        """Return the error for an intact bundle with unexpected content."""
        return RgwotError(f"{self.path}: {why}; not a valid bundle (expected one that the workflow's bundle rule made)")

    @contextmanager
    def fitting(self, what: str) -> Iterator[None]:
        """Turn Python's errors in this context, which mean that parts do not fit, into errors about the bundle."""
        try:
            yield
        except RgwotError:
            raise
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            MemoryError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise self.wrong(f"{what} ({first_line(error)[:200]})") from None


def packed(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return arrays as the bytes of an ``.npz`` file."""
    written = io.BytesIO()
    np.savez(written, **dict(arrays))  # type: ignore[arg-type]
    return written.getvalue()


def bundle_bytes(facts: Mapping[str, object], parts: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle of parts by name; ``facts`` has the fields of `About` except versions and digests.

    The same content gives the same bytes.
    """
    digests = {name: {"bytes": len(part), "sha256": _digest(part)} for name, part in parts.items()}
    versions = {"format_version": FORMAT, "rgwot_version": __version__}
    manifest = About.model_validate({**versions, **facts, "parts": digests}).model_dump_json(indent=1).encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, part in {MANIFEST_FILE: manifest, **parts}.items():
            # ZipInfo has a fixed time, so that equal bundles have equal bytes.
            archive.writestr(zipfile.ZipInfo(name), part)
        archive.comment = b"0" * _SEAL
    content = written.getvalue()[:-_SEAL]
    return content + _digest(content).encode()


def read_bundle(path: Path) -> Bundle:
    """Read a bundle.

    Raises
    ------
    RgwotError
        If it does not exist, has another version, or was changed.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RgwotError(
            f"{path}: no such file; expected a bundle ({SUFFIX}), as the workflow makes it below results/bundles"
        ) from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            seal = content[-_SEAL:].decode("ascii", "replace")
            if _digest(content[:-_SEAL]) != seal:
                raise RgwotError(
                    f"{path}: changed since it was written (SHA-256 {_digest(content[:-_SEAL])[:12]}, expected "
                    f"{seal[:12]}); copy it again"
                )
            _check_size(path, archive, len(content))
            _check_version(path, archive)
            facts = About.model_validate_json(archive.read(MANIFEST_FILE))
            parts = {name: archive.read(name) for name in facts.parts}
        for name in parts:
            # Arrays and models are archives, too, so the sizes of their contents are checked as well.
            if zipfile.is_zipfile(io.BytesIO(parts[name])):
                with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
                    _check_size(f"{path}: {name}", archive, len(parts[name]))
    except ValidationError as error:
        raise RgwotError(f"{path}: {MANIFEST_FILE}: {describe(error, About)}; make the bundle again") from None
    except RgwotError:
        raise
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError, NotImplementedError, RecursionError) as error:
        raise RgwotError(f"{path}: cut off, changed or not a bundle ({first_line(error)}); copy it again") from None
    return Bundle(path, _digest(content), facts, parts)


def _check_size(where: object, archive: zipfile.ZipFile, size: int) -> None:
    """Raise RgwotError, before unpacking, if the content of an archive is larger than the archive."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise RgwotError(
            f"{where}: found {len(members)} members, expected at most {_MOST_MEMBERS}; make the bundle again"
        )
    if packed := [member.filename for member in members if member.compress_type != zipfile.ZIP_STORED]:
        raise RgwotError(f"{where}: found {packed[0]} compressed, expected it uncompressed; make the bundle again")
    if (unpacked := sum(member.file_size for member in members)) > size:
        raise RgwotError(
            f"{where}: found {unpacked} bytes of content in a file of {size}, expected fewer; make the bundle again"
        )


def _check_version(path: Path, archive: zipfile.ZipFile) -> None:
    content = json.loads(archive.read(MANIFEST_FILE))
    content = content if isinstance(content, dict) else {}
    if (version := content.get("format_version")) != FORMAT:
        raise RgwotError(
            f"{path}: found a bundle of format {version!r}, expected format {FORMAT}, which rgwot {__version__} reads; "
            "make it again (rgwot run results/bundles/METHOD/DECODER/DATASET/TASK/seedN.rgwot), or use the version "
            f"{content.get('rgwot_version', 'that wrote it')} of rgwot"
        )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
