"""What several formats share: bad records, times as text, decoders in Spark SQL."""
