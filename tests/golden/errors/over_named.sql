SELECT
  rank() OVER w AS a,
  rank() OVER (v ORDER BY n) AS b,
  rank() OVER (v PARTITION BY name) AS c,
  rank() OVER u AS d
FROM hourly
WINDOW v AS (PARTITION BY window ORDER BY n), u AS (u);
SELECT rank() OVER (PARTITION BY window ORDER BY n ROWS 5) AS e FROM hourly
-- error
-- <cell>:2:15: The window w is not defined!
--     rank() OVER w AS a,
--                 ^
--   hint: write WINDOW w AS (PARTITION BY ...) behind FROM
-- <cell>:3:27: cannot override ORDER BY clause of window v
--     rank() OVER (v ORDER BY n) AS b,
--                             ^
-- <cell>:4:31: cannot override PARTITION BY clause of window v
--     rank() OVER (v PARTITION BY name) AS c,
--                                 ^^^^
-- <cell>:7:53: The window u is not defined!
--   WINDOW v AS (PARTITION BY window ORDER BY n), u AS (u);
--                                                       ^
--   hint: write WINDOW u AS (PARTITION BY ...) behind FROM
-- <cell>:8:57: a frame begins and ends so many rows PRECEDING or FOLLOWING, or at the CURRENT ROW
--   SELECT rank() OVER (PARTITION BY window ORDER BY n ROWS 5) AS e FROM hourly
--                                                           ^
--   hint: write ROWS BETWEEN 5 PRECEDING AND CURRENT ROW
