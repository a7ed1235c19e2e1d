SELECT
  sum(n) OVER (PARTITION BY window ORDER BY n ROWS UNBOUNDED FOLLOWING) AS a,
  sum(n) OVER (PARTITION BY window ORDER BY n ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING) AS b,
  sum(n) OVER (PARTITION BY window ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) AS c,
  sum(n) OVER (PARTITION BY window ORDER BY n ROWS -1 PRECEDING) AS d,
  sum(n) OVER (PARTITION BY window ORDER BY n GROUPS 1.5 PRECEDING) AS e,
  sum(n) OVER (PARTITION BY window GROUPS 1 PRECEDING) AS f,
  sum(n) OVER (PARTITION BY window RANGE 1 PRECEDING) AS g,
  sum(n) OVER (PARTITION BY window ORDER BY n, name RANGE 1 PRECEDING) AS h,
  sum(n) OVER (PARTITION BY window ORDER BY name RANGE 1 PRECEDING) AS i,
  sum(n) OVER (PARTITION BY window ORDER BY n RANGE INTERVAL '1 minute' PRECEDING) AS j,
  sum(n) OVER (PARTITION BY window ORDER BY window.start RANGE 1 PRECEDING) AS k,
  sum(n) OVER (PARTITION BY window ORDER BY window.start RANGE INTERVAL '1 month' PRECEDING) AS l,
  rank() OVER (PARTITION BY window ORDER BY n ROWS UNBOUNDED FOLLOWING) AS m
FROM hourly
-- error
-- <cell>:2:3: Invalid window frame: start bound cannot be UNBOUNDED FOLLOWING
--     sum(n) OVER (PARTITION BY window ORDER BY n ROWS UNBOUNDED FOLLOWING) AS a,
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:60: Invalid window frame: end bound cannot be UNBOUNDED PRECEDING
--     sum(n) OVER (PARTITION BY window ORDER BY n ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING) AS b,
--                                                              ^
-- <cell>:4:60: Invalid window frame: start bound (1 FOLLOWING) cannot be larger than end bound (1 PRECEDING)
--     sum(n) OVER (PARTITION BY window ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) AS c,
--                                                              ^^^^^^^^^^^^^^^^^
-- <cell>:5:53: Invalid window frame: frame offsets for ROWS / GROUPS must be non negative integers
--     sum(n) OVER (PARTITION BY window ORDER BY n ROWS -1 PRECEDING) AS d,
--                                                       ^
-- <cell>:6:54: Invalid window frame: frame offsets for ROWS / GROUPS must be non negative integers
--     sum(n) OVER (PARTITION BY window ORDER BY n GROUPS 1.5 PRECEDING) AS e,
--                                                        ^^^
-- <cell>:7:43: GROUPS requires an ORDER BY clause
--     sum(n) OVER (PARTITION BY window GROUPS 1 PRECEDING) AS f,
--                                             ^
-- <cell>:8:42: RANGE requires exactly one ORDER BY column
--     sum(n) OVER (PARTITION BY window RANGE 1 PRECEDING) AS g,
--                                            ^
--   hint: ROWS and GROUPS take any ORDER BY
-- <cell>:9:59: RANGE requires exactly one ORDER BY column
--     sum(n) OVER (PARTITION BY window ORDER BY n, name RANGE 1 PRECEDING) AS h,
--                                                             ^
--   hint: ROWS and GROUPS take any ORDER BY
-- <cell>:10:56: RANGE with an offset needs ORDER BY a number or a TIMESTAMP, not TEXT
--     sum(n) OVER (PARTITION BY window ORDER BY name RANGE 1 PRECEDING) AS i,
--                                                          ^
--   hint: write ROWS or GROUPS, or ORDER BY a number
-- <cell>:11:53: Invalid window frame: the offset of RANGE over a number must be a number that is not negative
--     sum(n) OVER (PARTITION BY window ORDER BY n RANGE INTERVAL '1 minute' PRECEDING) AS j,
--                                                       ^^^^^^^^^^^^^^^^^^^
-- <cell>:12:64: Invalid window frame: the offset of RANGE over a TIMESTAMP must be an INTERVAL
--     sum(n) OVER (PARTITION BY window ORDER BY window.start RANGE 1 PRECEDING) AS k,
--                                                                  ^
--   hint: write INTERVAL '5 minutes'
-- <cell>:13:64: an interval with months is not supported: it has no exact duration
--     sum(n) OVER (PARTITION BY window ORDER BY window.start RANGE INTERVAL '1 month' PRECEDING) AS l,
--                                                                  ^^^^^^^^^^^^^^^^^^
--   hint: write a number of days
-- <cell>:14:3: Invalid window frame: start bound cannot be UNBOUNDED FOLLOWING
--     rank() OVER (PARTITION BY window ORDER BY n ROWS UNBOUNDED FOLLOWING) AS m
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
