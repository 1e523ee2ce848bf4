"""The page of a task, which shows its results in a browser without a server.

`pictures` and `view` read videos and embeddings once and keep what the page needs; `content` gathers everything that a
page shows, and `render` writes it as one HTML file. The scripts and styles of the page are in ``parts``.
"""
