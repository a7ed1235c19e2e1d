SELECT row_number() OVER (PARTITION BY window ORDER BY n) FROM hourly
-- error
-- <cell>:1:8: OVER is not supported
--   SELECT row_number() OVER (PARTITION BY window ORDER BY n) FROM hourly
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
