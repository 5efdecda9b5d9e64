"""Records of a fixed length."""
