"""The file of a bundle: a ZIP archive of arrays, a model, and a manifest that names and describes them.

Nothing in it is code: arrays are NumPy's without pickled objects, the model is read with ``weights_only``. Parts are
stored as they are. ``manifest.json`` (`About`) has the version of the format, and size and SHA-256 of every part; the
last 64 bytes of the file, for ZIP its comment, are the SHA-256 of all that stands before them. So a changed byte is
noticed wherever it is. Digests cannot tell who made a bundle.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from rgwot import __version__, paths
from rgwot.blocks import Block
from rgwot.config.settings import describe
from rgwot.paths import Run, name_of
from rgwot.procedure import Procedure
from rgwot.reporting.names import LONGEST
from rgwot.runtime.errors import RgwotError, first_line

FORMAT = 1
"""Version of the format; a reader takes this one alone."""

SUFFIX = ".rgwot"
MANIFEST_FILE = "manifest.json"
#: The trained encoder, or what an embedding without one learned; what the decoder learned; the labels of known videos.
MODEL, EMBEDDING, DECODER, ANSWERS = "model.pt", "embedding.npz", "decoder.npz", "answers.npz"
#: The procedure that new videos are compared with, as the result has it.
PROCEDURE_FILE = name_of(paths.PROCEDURE)
_SEAL = hashlib.sha256().digest_size * 2
# Of the names of folders that `rgwot apply` makes.
_Part = Annotated[str, Field(pattern=r"^[^/\\.\x00-\x1f][^/\\\x00-\x1f]*$", max_length=200)]
# As `rgwot.reporting.names` takes them; they are printed, too.
_Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=LONGEST)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class PartDigest(Block):
    """Size and SHA-256 of a part."""

    bytes: int
    sha256: _Digest


class FeatureKind(Block):
    """What features the result was made from.

    ``attributes`` are those of their stores by which features are made again, or compared; ``frame`` is (C, h, w).
    """

    attributes: dict[str, str | int | float | bool | None]
    frame: tuple[int, int, int]
    vectors: bool


class About(Block):
    """What the manifest of a bundle says.

    Attributes
    ----------
    format_version, rgwot_version
        Of this format, and of the package that wrote the file.
    method, decoder, dataset, task, seed
        The result it was made from.
    K, time, surplus
        Key steps, share of time and clusters beyond K (`rgwot.keysteps.extended`).
    settings
        The blocks that embedding and decoder read.
    features, features_fps
        The features, and how many there are per second of video.
    names
        What people called the key steps.
    videos, held_out
        Those the result was learned from, and those that were held out.
    agreement
        Share of their samples to which the rule for other videos gives the key step that the result has.
    parts
        Every other part of the file.
    """

    format_version: int
    rgwot_version: str
    method: _Part
    decoder: _Part
    dataset: _Part
    task: _Part
    seed: Annotated[int, Field(ge=0)]
    K: Annotated[int, Field(ge=1)]
    time: Annotated[float, Field(ge=0, lt=1)]
    surplus: Annotated[int, Field(ge=0)]
    settings: dict[str, dict[str, Any]]
    features: FeatureKind
    features_fps: Annotated[float, Field(gt=0)]
    names: dict[Annotated[int, Field(ge=1)], _Name]
    videos: list[str]
    held_out: list[str]
    agreement: float
    parts: dict[str, PartDigest]

    @property
    def run(self) -> Run:
        """The result it was made from, within its task."""
        return Run(self.method, self.decoder, self.seed)


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read: where, its SHA-256, its manifest and its parts."""

    path: Path
    sha256: str
    about: About
    parts: Mapping[str, bytes]

    def arrays(self, part: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part."""
        try:
            with np.load(io.BytesIO(self.parts[part]), allow_pickle=False) as content:
                return {name: content[name] for name in content.files}
        except (ValueError, OSError, EOFError, LookupError, AttributeError, MemoryError, zipfile.BadZipFile) as error:
            raise self.wrong(f"{part}: no arrays without pickled objects ({first_line(error)})") from None

    def procedure(self) -> Procedure:
        """Return the procedure that the result found."""
        try:
            return Procedure.from_json(json.loads(self.parts[PROCEDURE_FILE]))
        except KeyError:
            raise self.wrong("has no procedure") from None
        except (ValueError, AttributeError, RgwotError) as error:
            raise self.wrong(f"{PROCEDURE_FILE}: {first_line(error)}") from None

    def wrong(self, why: str) -> RgwotError:
        """Return the error for an intact bundle with unexpected content."""
        return RgwotError(f"{self.path}: {why}; not a valid bundle; ask whoever made it")


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as the bytes of an ``.npz`` file."""
    written = io.BytesIO()
    np.savez(written, **dict(arrays))  # type: ignore[arg-type]
    return written.getvalue()


def bundle_bytes(about: Mapping[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle of parts by name; ``about`` has the fields of `About` but versions and digests.

    The same content gives the same bytes.
    """
    digests = {name: {"bytes": len(part), "sha256": _digest(part)} for name, part in parts.items()}
    versions = {"format_version": FORMAT, "rgwot_version": __version__}
    manifest = About.model_validate({**versions, **about, "parts": digests}).model_dump_json(indent=1).encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, part in {MANIFEST_FILE: manifest, **parts}.items():
            # No times: they are nobody's business, and the same bundle would differ.
            archive.writestr(zipfile.ZipInfo(name), part)
        archive.comment = b"0" * _SEAL
    content = written.getvalue()[:-_SEAL]
    return content + _digest(content).encode()


def read_bundle(path: Path) -> Bundle:
    """Read a bundle.

    Raises
    ------
    RgwotError
        When there is none, it is of another version, or anything in it is not what was written.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RgwotError(
            f"{path}: no such file; expected a bundle, {SUFFIX}, which the workflow makes below results/bundles"
        ) from None
    return parse_bundle(content, path)


def parse_bundle(content: bytes, path: Path) -> Bundle:
    """Read a bundle from its bytes, as `read_bundle` from a file; ``path`` is what to call it in an error."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            seal = content[-_SEAL:].decode("ascii", "replace")
            if _digest(content[:-_SEAL]) != seal:
                raise RgwotError(
                    f"{path}: changed since it was written (SHA-256 {_digest(content[:-_SEAL])[:12]}, expected "
                    f"{seal[:12]}); get it again from where it came from"
                )
            _check_size(path, archive, len(content))
            _check_version(path, archive)
            about = About.model_validate_json(archive.read(MANIFEST_FILE))
            parts = {name: archive.read(name) for name in about.parts}
        for name in parts:
            # Arrays and models are archives, too.
            if zipfile.is_zipfile(io.BytesIO(parts[name])):
                with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
                    _check_size(f"{path}: {name}", archive, len(parts[name]))
    except ValidationError as error:
        raise RgwotError(f"{path}: {MANIFEST_FILE}: {describe(error, About)}; ask whoever made it") from None
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError, NotImplementedError) as error:
        raise RgwotError(
            f"{path}: cut off, changed or no bundle ({first_line(error)}); get it again from where it came from"
        ) from None
    return Bundle(path, _digest(content), about, parts)


def _check_size(where: object, archive: zipfile.ZipFile, size: int) -> None:
    """Raise RgwotError, before anything is unpacked, for an archive whose content takes more than its own bytes."""
    members = archive.infolist()
    if packed := [member.filename for member in members if member.compress_type != zipfile.ZIP_STORED]:
        raise RgwotError(f"{where}: {packed[0]} in it is packed, expected as it is; have it made again")
    if (unpacked := sum(member.file_size for member in members)) > size:
        raise RgwotError(f"{where}: {unpacked} bytes in a file of {size}, expected fewer; ask whoever made it")


def _check_version(path: Path, archive: zipfile.ZipFile) -> None:
    content = json.loads(archive.read(MANIFEST_FILE))
    content = content if isinstance(content, dict) else {}
    if (version := content.get("format_version")) != FORMAT:
        raise RgwotError(
            f"{path}: a bundle of format {version!r}, written by rgwot {content.get('rgwot_version')!r}; expected "
            f"format {FORMAT}, which rgwot {__version__} reads; have it made again, or take the other rgwot"
        )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
