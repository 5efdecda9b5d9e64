"""``headrace doctor``: why steps wait."""
