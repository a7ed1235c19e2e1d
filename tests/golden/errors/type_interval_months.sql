SELECT at + INTERVAL '1 month' FROM trips
-- error
-- <cell>:1:13: an interval with months is not supported: it has no exact duration
--   SELECT at + INTERVAL '1 month' FROM trips
--               ^^^^^^^^^^^^^^^^^^
--   hint: write a number of days
