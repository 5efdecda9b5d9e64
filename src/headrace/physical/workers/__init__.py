"""What runs in the pipeline's workers, or ahead of the reader."""
