"""Tar archives as WebDataset writes them: members, the elements they make, and the writer."""
