"""The files that make tables and figures, as one package: those of a study, and those of the library.

A file can import from another one, ``from .rows import ...``, and a job can import the functions of all.
"""

from pathlib import Path

from rgwot.study.shipped import TABLES_FOLDER

#: Files with the tables of a study, beside its ``config.yaml``.
OWN_TABLES = Path("tables")
__path__ = [str(OWN_TABLES.absolute()), str(TABLES_FOLDER)]
