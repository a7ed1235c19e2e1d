SELECT id FROM (SELECT id FROM clicks ORDER BY id) AS some
-- error
-- <cell>:1:48: ORDER BY is not currently supported
--   SELECT id FROM (SELECT id FROM clicks ORDER BY id) AS some
--                                                  ^^
--   hint: for a top N, select row_number() OVER (ORDER BY ...) AS n in a subquery, and filter with WHERE n <= ... outside
