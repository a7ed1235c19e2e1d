-- strict
SELECT sum(n) OVER (PARTITION BY window ORDER BY n ROWS 1 PRECEDING EXCLUDE TIES) AS s FROM hourly
-- error
-- <cell>:2:8: Expected: ), found: EXCLUDE
--   SELECT sum(n) OVER (PARTITION BY window ORDER BY n ROWS 1 PRECEDING EXCLUDE TIES) AS s FROM hourly
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
