"""The streaming plan on Spark: expressions as SQL text, nodes as DataFrames."""
