-- strict
SELECT n, row_number() OVER (ORDER BY n DESC) AS place FROM (
  SELECT name, count(*) AS n FROM trips GROUP BY name, session('5 s')
)
-- error
-- <cell>:2:11: Window functions do not support session windows
--   SELECT n, row_number() OVER (ORDER BY n DESC) AS place FROM (
--             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
