"""Who is meant by a name, and of which type it is."""
