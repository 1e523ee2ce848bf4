"""The stages between files: training, embedding, key steps, scores; each reads the files of those before it."""
