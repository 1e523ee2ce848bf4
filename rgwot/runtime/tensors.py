"""Files of tensors, read without pickled objects and with clear errors for other files."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError

PICKLED = "has pickled Python objects, which could run code and are never loaded"


class UnreadableTensors(RgwotError):
    """Error: a file is damaged, or contains something other than tensors; ``why`` says which."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.why = why


#: PyTorch's messages about files with classes or calls; its advice to allow them is not repeated.
_OBJECTS = ("Unsupported global", "Unsupported class", "Unsupported operand", "weights_only", "Weights only")


def load_tensors(source: str | os.PathLike[str] | io.BytesIO, *, mapped: bool = False) -> Any:
    """Read a file by `rgwot.runtime.files.write_tensors` or ``torch.save``, without executing anything in it.

    Unlike PyTorch, this function compares the checksums of the archive, unless the file is ``mapped``: then tensors
    stay in the file until they are used, if its format allows it.

    Raises FileNotFoundError if the file does not exist, and UnreadableTensors if it is damaged or contains anything but
    tensors and plain values.
    """
    import torch

    file = source if isinstance(source, io.BytesIO) else Path(source)
    place = Path("tensors") if isinstance(file, io.BytesIO) else file
    try:
        archive = zipfile.is_zipfile(file)
        if archive and not mapped:
            with zipfile.ZipFile(file) as content:
                damaged = content.testzip()
            if damaged is not None:
                raise UnreadableTensors(place, f"{damaged} in it differs from its checksum")
        if isinstance(file, io.BytesIO):
            file.seek(0)
        # Files by torch before 1.6 are not archives and cannot be mapped.
        return torch.load(file, map_location="cpu", weights_only=True, mmap=mapped and archive)
    except (FileNotFoundError, UnreadableTensors):
        raise
    except (
        OSError, RuntimeError, ValueError, LookupError, EOFError, TypeError, AttributeError, NotImplementedError,
        pickle.UnpicklingError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        raise UnreadableTensors(place, _why(error, file)) from None


def _why(error: Exception, file: Path | io.BytesIO) -> str:
    message = str(error)
    if isinstance(error, OSError) and error.strerror and error.errno not in (None, 22):
        return f"cannot be read ({error.strerror})"
    if any(words in message for words in _OBJECTS):
        return PICKLED
    size = file.getbuffer().nbytes if isinstance(file, io.BytesIO) else file.stat().st_size if file.exists() else 0
    return f"its {size} bytes are truncated, damaged or not a file of tensors"
