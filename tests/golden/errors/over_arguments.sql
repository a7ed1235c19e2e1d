SELECT
  ntile() OVER (PARTITION BY window ORDER BY n) AS a,
  ntile(0) OVER (PARTITION BY window ORDER BY n) AS b,
  ntile(n) OVER (PARTITION BY window ORDER BY n) AS c,
  lag(n, n) OVER (PARTITION BY window ORDER BY n) AS d,
  lag(n, 1, 2, 3) OVER (PARTITION BY window ORDER BY n) AS e,
  lead(n, 1, window) OVER (PARTITION BY window ORDER BY n) AS f,
  nth_value(n) OVER (PARTITION BY window ORDER BY n) AS g,
  nth_value(n, 0) OVER (PARTITION BY window ORDER BY n) AS h,
  rank() IGNORE NULLS OVER (PARTITION BY window ORDER BY n) AS i,
  lag(n) FILTER (WHERE n > 1) OVER (PARTITION BY window ORDER BY n) AS j,
  sum(name) OVER (PARTITION BY window) AS k,
  sum(n) IGNORE NULLS OVER (PARTITION BY window) AS l,
  cume_dist() WITHIN GROUP (ORDER BY n) OVER (PARTITION BY window) AS m
FROM hourly
-- error
-- <cell>:2:3: ntile() is given 0 arguments
--     ntile() OVER (PARTITION BY window ORDER BY n) AS a,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write ntile(buckets)
-- <cell>:3:9: ntile() requires a positive integer, but finds Int64(0)
--     ntile(0) OVER (PARTITION BY window ORDER BY n) AS b,
--           ^
-- <cell>:4:9: ntile() requires a whole number, but finds hourly.n
--     ntile(n) OVER (PARTITION BY window ORDER BY n) AS c,
--           ^
-- <cell>:5:10: lag() requires a whole number, but finds hourly.n
--     lag(n, n) OVER (PARTITION BY window ORDER BY n) AS d,
--            ^
-- <cell>:6:3: lag() is given 4 arguments
--     lag(n, 1, 2, 3) OVER (PARTITION BY window ORDER BY n) AS e,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write lag(value[, offset[, default]])
-- <cell>:7:3: Unsupported CAST from STRUCT<start TIMESTAMP, end TIMESTAMP> to BIGINT
--     lead(n, 1, window) OVER (PARTITION BY window ORDER BY n) AS f,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:8:3: nth_value() is given 1 arguments
--     nth_value(n) OVER (PARTITION BY window ORDER BY n) AS g,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write nth_value(value, n)
-- <cell>:10:3: rank() takes no IGNORE NULLS
--     rank() IGNORE NULLS OVER (PARTITION BY window ORDER BY n) AS i,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:11:3: FILTER is only supported for aggregates
--     lag(n) FILTER (WHERE n > 1) OVER (PARTITION BY window ORDER BY n) AS j,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: filter the rows in a subquery
-- <cell>:12:3: sum() does not take TEXT
--     sum(name) OVER (PARTITION BY window) AS k,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: cast the argument of sum() to a number
-- <cell>:14:3: WITHIN GROUP is not supported after cume_dist()
--     cume_dist() WITHIN GROUP (ORDER BY n) OVER (PARTITION BY window) AS m
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
