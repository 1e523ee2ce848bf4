"""`rgwot open`: a local server that shows the page of a study in a browser, saves what people do there, and learns."""
