"""Tables, figures, pages and exports of results; reported values stand beside measured ones."""
