"""Tables: rows, cells, notes, and their CSV, Markdown and LaTeX."""
