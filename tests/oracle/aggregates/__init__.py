"""Aggregates and functions of OVER over a table of rows, compared with DataFusion."""
