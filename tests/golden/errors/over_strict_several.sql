-- strict
SELECT rank() OVER (PARTITION BY window ORDER BY n) AS r, sum(n) OVER (PARTITION BY window ORDER BY n) AS s FROM hourly;
SELECT rank() OVER (PARTITION BY window ORDER BY n) AS r, rank() OVER (PARTITION BY window ORDER BY fares) AS s FROM hourly
-- error
-- <cell>:2:8: Window functions require exactly one window expression
--   SELECT rank() OVER (PARTITION BY window ORDER BY n) AS r, sum(n) OVER (PARTITION BY window ORDER BY n) AS s FROM hourly;
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
-- <cell>:3:59: Window functions require exactly one window expression
--   SELECT rank() OVER (PARTITION BY window ORDER BY n) AS r, rank() OVER (PARTITION BY window ORDER BY fares) AS s FROM hourly
--                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
