-- strict
SELECT id, row_number() OVER (PARTITION BY id ORDER BY at DESC) AS n FROM clicks
-- error
-- <cell>:2:12: Window functions require already windowed input
--   SELECT id, row_number() OVER (PARTITION BY id ORDER BY at DESC) AS n FROM clicks
--              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
