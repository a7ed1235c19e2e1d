SELECT
  lag(fare) OVER (ORDER BY at) AS a,
  sum(fare) FILTER (WHERE fare > 1) OVER (PARTITION BY name) AS b,
  first_value(fare) IGNORE NULLS OVER (ORDER BY at) AS c
FROM trips;
SELECT name, ntile(4) OVER (PARTITION BY name ORDER BY n) AS d FROM hourly;
SELECT lag(n) OVER (PARTITION BY window.start ORDER BY n) AS e FROM hourly;
SELECT lag(n) OVER (PARTITION BY name ORDER BY n) AS f FROM (SELECT name, count(*) AS n FROM trips GROUP BY name)
-- error
-- <cell>:2:3: Window functions require already windowed input
--     lag(fare) OVER (ORDER BY at) AS a,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by a window in a subquery, and add it to PARTITION BY: lag() sees the rows of one window; without a window run dense_rank, rank, row_number
-- <cell>:4:3: Window functions require already windowed input
--     first_value(fare) IGNORE NULLS OVER (ORDER BY at) AS c
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by a window in a subquery, and add it to PARTITION BY: first_value() sees the rows of one window; without a window run dense_rank, rank, row_number
-- <cell>:6:14: Window function requires exactly one window expression in partition_by
--   SELECT name, ntile(4) OVER (PARTITION BY name ORDER BY n) AS d FROM hourly;
--                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PARTITION BY window, ...
-- <cell>:7:8: Window function requires exactly one window expression in partition_by
--   SELECT lag(n) OVER (PARTITION BY window.start ORDER BY n) AS e FROM hourly;
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write PARTITION BY window, ...
-- <cell>:8:8: Window functions require already windowed input
--   SELECT lag(n) OVER (PARTITION BY name ORDER BY n) AS f FROM (SELECT name, count(*) AS n FROM trips GROUP BY name)
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by a window in a subquery, and add it to PARTITION BY: lag() sees the rows of one window; without a window run dense_rank, rank, row_number
