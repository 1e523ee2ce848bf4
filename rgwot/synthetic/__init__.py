"""Videos of made-up procedures with ground truth: what happens when, how it looks, and writing both."""
