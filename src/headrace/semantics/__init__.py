"""What operations mean and the shape of their states, for every way of running them: no stage, no stream, no thread."""
