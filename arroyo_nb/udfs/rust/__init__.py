"""Functions in Rust, as they are written for Arroyo."""
