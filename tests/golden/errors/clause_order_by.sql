SELECT id FROM clicks ORDER BY id
-- error
-- <cell>:1:32: ORDER BY is not currently supported
--   SELECT id FROM clicks ORDER BY id
--                                  ^^
--   hint: for the first rows of an order, select row_number() OVER (ORDER BY ...) AS n in a subquery, and WHERE n <= ... outside
