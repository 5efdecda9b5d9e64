"""What a run did, measured while it runs and read as frozen snapshots."""
