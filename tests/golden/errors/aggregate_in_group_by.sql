SELECT 1 AS x FROM trips GROUP BY count(*)
-- error
-- <cell>:1:35: Aggregate functions are not allowed in GROUP BY
--   SELECT 1 AS x FROM trips GROUP BY count(*)
--                                     ^^^^^^^^
