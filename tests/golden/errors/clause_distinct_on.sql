SELECT DISTINCT ON (id) id, at FROM clicks
-- error
-- <cell>:1:21: SELECT DISTINCT ON is not supported
--   SELECT DISTINCT ON (id) id, at FROM clicks
--                       ^^
--   hint: select row_number() OVER (PARTITION BY ... ORDER BY ...) AS n in a subquery, and filter with WHERE n = 1 outside
