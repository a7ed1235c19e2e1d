SELECT id FROM clicks LIMIT 10
-- error
-- <cell>:1:29: LIMIT is not currently supported
--   SELECT id FROM clicks LIMIT 10
--                               ^^
--   hint: for the first rows of an order, select row_number() OVER (ORDER BY ...) AS n in a subquery, and WHERE n <= ... outside
