SELECT sum(n) OVER (PARTITION BY window) FROM hourly
-- error
-- <cell>:1:8: OVER is not supported
--   SELECT sum(n) OVER (PARTITION BY window) FROM hourly
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
