"""Lines of text files."""
