"""What an output produced: rows kept up to a budget, changes, their order."""
