"""The files that make tables and figures, of a study and of the library, as one package.

A file can import from another file, ``from .rows import ...``, and a job can import all functions.
"""

from pathlib import Path

from rgwot.study.shipped import TABLES_FOLDER

#: Files with the tables of a study, beside its ``config.yaml``.
OWN_TABLES = Path("tables")
__path__ = [str(OWN_TABLES.absolute()), str(TABLES_FOLDER)]
