SELECT CASE CAST(random() * 3 AS BIGINT) WHEN 0 THEN 'a' WHEN 1 THEN 'b' END FROM trips
-- error
-- <cell>:1:13: the operand of CASE would be computed again for each WHEN, and is to be computed once for a row
--   SELECT CASE CAST(random() * 3 AS BIGINT) WHEN 0 THEN 'a' WHEN 1 THEN 'b' END FROM trips
--               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: compute it in a query first, as in SELECT CASE x WHEN 1 THEN 'a' WHEN 2 THEN 'b' END AS y FROM (SELECT ... AS x FROM t)
