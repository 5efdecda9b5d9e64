"""What the figures of a pipeline mean: what bounds its rate, why a step waited, and what to change."""
