-- strict
SELECT count(*) FROM clicks GROUP BY hop('3 minutes', '10 minutes')
-- error
-- <cell>:2:8: hop() width 600s currently must be a multiple of slide 180s
--   SELECT count(*) FROM clicks GROUP BY hop('3 minutes', '10 minutes')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: this runs without the strict option, which refuses what Arroyo refuses
