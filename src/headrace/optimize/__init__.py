"""Rules that make a plan faster and change none of its elements."""
