"""Configuration of a run: settings, methods, ids of experiments, the configuration file."""
