"""What runs in the pipeline's workers, or ahead of whoever reads."""
