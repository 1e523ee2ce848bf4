"""Tables as data in ``workflow/tables.yaml``: rows, cells, notes, and their CSV, Markdown and LaTeX."""
