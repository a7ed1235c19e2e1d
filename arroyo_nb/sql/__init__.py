"""Text -> statements: the dialect, the statements and the parser."""
