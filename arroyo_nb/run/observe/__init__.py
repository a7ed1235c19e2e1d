"""What a run did, batch by batch: progress, windows, late rows, snapshots."""
