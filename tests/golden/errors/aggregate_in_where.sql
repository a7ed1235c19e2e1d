SELECT name FROM trips WHERE count(*) > 1 GROUP BY name
-- error
-- <cell>:1:30: Aggregate functions are not allowed in the WHERE clause
--   SELECT name FROM trips WHERE count(*) > 1 GROUP BY name
--                                ^^^^^^^^
--   hint: write HAVING
