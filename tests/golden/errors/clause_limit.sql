SELECT id FROM (SELECT id FROM clicks LIMIT 3) AS some
-- error
-- <cell>:1:45: LIMIT is not currently supported
--   SELECT id FROM (SELECT id FROM clicks LIMIT 3) AS some
--                                               ^
--   hint: for a top N, select row_number() OVER (ORDER BY ...) AS n in a subquery, and filter with WHERE n <= ... outside
