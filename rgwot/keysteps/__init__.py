"""From embeddings to key steps, their order in a video and ranked procedures of a task (methods 3.9, 5)."""
