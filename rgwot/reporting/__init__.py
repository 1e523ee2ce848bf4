"""Tables, figures, pages and exports of results; reported values next to measured ones."""
