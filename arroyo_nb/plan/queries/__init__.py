"""SELECT, clause by clause: joins, grouping, aggregates, OVER, ordering."""
