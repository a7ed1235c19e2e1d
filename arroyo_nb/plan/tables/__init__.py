"""CREATE TABLE: columns, options, watermarks; lookup tables and tables of changes."""
