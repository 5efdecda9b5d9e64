"""Files that were damaged at random: every reader says so, and none crashes, hangs, or takes memory that no file accounts for."""
