SELECT
  lag(fare) OVER (ORDER BY at) AS a,
  sum(fare) FILTER (WHERE fare > 1) OVER (PARTITION BY name) AS b,
  first_value(fare) IGNORE NULLS OVER (ORDER BY at) AS c,
  upper(name) OVER (ORDER BY at) AS d,
  ntil(4) OVER (ORDER BY at) AS e,
  rank(fare) OVER (ORDER BY at) AS f,
  row_number() AS g,
  ntile(4) AS h,
  rank() OVER w AS i,
  rank() FILTER (WHERE fare > 1) OVER (ORDER BY at) AS j,
  rank() OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS k,
  rank() OVER (ORDER BY tumble('1 minute')) AS l
FROM trips
-- error
-- <cell>:5:3: upper(trips.name) is not a window function
--     upper(name) OVER (ORDER BY at) AS d,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:6:3: Invalid function 'ntil'
--     ntil(4) OVER (ORDER BY at) AS e,
--     ^^^^^^
-- <cell>:7:3: rank() takes no argument
--     rank(fare) OVER (ORDER BY at) AS f,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:8:3: row_number() needs OVER
--     row_number() AS g,
--     ^^^^^^^^^^^^
-- <cell>:9:3: ntile() needs OVER
--     ntile(4) AS h,
--     ^^^^^^^^
-- <cell>:10:15: The window w is not defined!
--     rank() OVER w AS i,
--                 ^
--   hint: write WINDOW w AS (PARTITION BY ...) behind FROM
-- <cell>:11:3: FILTER is only supported for aggregates
--     rank() FILTER (WHERE fare > 1) OVER (ORDER BY at) AS j,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: filter the rows in a subquery
