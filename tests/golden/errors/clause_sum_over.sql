SELECT sum(n) OVER (PARTITION BY window) FROM hourly
-- error
-- <cell>:1:8: sum() OVER is not supported yet
--   SELECT sum(n) OVER (PARTITION BY window) FROM hourly
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: before OVER there may be: dense_rank, rank, row_number
