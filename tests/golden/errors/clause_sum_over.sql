SELECT sum(n) OVER (PARTITION BY window) FROM hourly
-- error
-- <cell>:1:8: sum() OVER is not supported yet
--   SELECT sum(n) OVER (PARTITION BY window) FROM hourly
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: supported before OVER: dense_rank, rank, row_number
