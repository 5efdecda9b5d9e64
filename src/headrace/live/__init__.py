"""A look at the pipelines of running programs: what each tells on a socket of its own, and who finds and asks it."""
