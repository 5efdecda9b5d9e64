"""The logical plan: what a dataset is, as a tree of frozen nodes that check themselves when they are made."""
