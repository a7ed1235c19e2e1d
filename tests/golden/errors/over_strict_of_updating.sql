-- strict
SELECT name, row_number() OVER (ORDER BY n DESC) AS place
FROM (SELECT name, count(*) AS n FROM trips GROUP BY name)
-- error
-- <cell>:2:14: Window functions require already windowed input
--   SELECT name, row_number() OVER (ORDER BY n DESC) AS place
--                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
