"""What a run is told: settings, methods, ids of experiments, the configuration file."""
