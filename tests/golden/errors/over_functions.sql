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
-- <cell>:2:3: lag() OVER is not supported yet
--     lag(fare) OVER (ORDER BY at) AS a,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: supported before OVER: dense_rank, rank, row_number
-- <cell>:3:3: sum() OVER is not supported yet
--     sum(fare) FILTER (WHERE fare > 1) OVER (PARTITION BY name) AS b,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: supported before OVER: dense_rank, rank, row_number
-- <cell>:4:3: first_value() OVER is not supported yet
--     first_value(fare) IGNORE NULLS OVER (ORDER BY at) AS c,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: supported before OVER: dense_rank, rank, row_number
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
-- <cell>:9:3: ntile() needs OVER, which is not supported yet
--     ntile(4) AS h,
--     ^^^^^^^^
-- <cell>:10:15: a named window is not supported
--     rank() OVER w AS i,
--                 ^
-- <cell>:11:3: FILTER is not supported after rank()
--     rank() FILTER (WHERE fare > 1) OVER (ORDER BY at) AS j,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:12:41: ROWS, RANGE or GROUPS in OVER is not supported
--     rank() OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS k,
--                                           ^
-- <cell>:13:25: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--     rank() OVER (ORDER BY tumble('1 minute')) AS l
--                           ^^^^^^^^^^^^^^^^^^
