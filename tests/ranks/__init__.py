"""The law of ranks over processes: plans that are dealt to new processes, some of which are killed."""
