"""What a front end asks of a cell: completion."""
