"""Files of tensors, read without pickled objects, with an error in plain words when they are something else."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError

PICKLED = "holds pickled Python objects, which could run code and are never loaded"


class UnreadableTensors(RgwotError):
    """A file that is damaged or holds something else than tensors; ``why`` is what was found."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.why = why


#: PyTorch's messages about files with classes or calls of their own; its advice to allow them is not passed on.
_OBJECTS = ("Unsupported global", "Unsupported class", "Unsupported operand", "weights_only", "Weights only")


def load_tensors(source: str | os.PathLike[str] | io.BytesIO, *, mapped: bool = False) -> Any:
    """Read a file as `rgwot.runtime.files.write_tensors` or ``torch.save`` write it; nothing in it is executed.

    The checksums of the archive are compared, which PyTorch does not do, unless it is ``mapped``: tensors then stay in
    the file until they are used, where its format allows that.

    Raises FileNotFoundError when there is no such file, and UnreadableTensors when it is damaged or holds something
    else than tensors and plain values.
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
        # Files of torch before 1.6 are no archives and cannot be mapped.
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
    return f"its {size} bytes are cut off, damaged or no file of tensors"
