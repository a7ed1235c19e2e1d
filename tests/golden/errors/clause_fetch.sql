SELECT id FROM clicks FETCH FIRST 3 ROWS ONLY
-- error
-- <cell>:1:23: LIMIT is not currently supported (FETCH)
--   SELECT id FROM clicks FETCH FIRST 3 ROWS ONLY
--                         ^^^^^^^^^^^^^^^^^^^^^^^
--   hint: for a top N, select row_number() OVER (ORDER BY ...) AS n in a subquery, and filter with WHERE n <= ... outside
