"""``headrace inspect``: what is in a file."""
