"""The stages of every operation, a family of operations each, and the cases that make them of plan nodes."""
