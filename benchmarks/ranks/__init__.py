"""What it costs to deal a plan to the ranks of a job, and to save and load where they stand."""
