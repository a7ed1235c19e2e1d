-- strict
SELECT window, row_number() OVER (PARTITION BY window ORDER BY n) AS place FROM (
  SELECT session('5 s') AS window, name, count(*) AS n FROM trips GROUP BY window, name
)
-- error
-- <cell>:2:16: Window functions do not support session windows
--   SELECT window, row_number() OVER (PARTITION BY window ORDER BY n) AS place FROM (
--                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
