"""What every stage stands on: files, errors, progress, devices, records of where a result comes from."""
