"""The stages: training, embedding, key steps and scores; each reads the files of earlier stages."""
