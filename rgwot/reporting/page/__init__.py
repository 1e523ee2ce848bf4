"""The page of a task: what was found, to be looked at in a browser without a server.

`pictures` and `view` look at videos and embeddings once and keep what the page needs of them; `content` gathers
everything a page shows, `render` writes it as one HTML file. What the page does in the browser is in ``parts``.
"""
