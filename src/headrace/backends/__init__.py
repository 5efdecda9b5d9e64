"""Who runs the stages."""
