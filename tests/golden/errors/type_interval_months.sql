SELECT INTERVAL '1 month' FROM trips
-- error
-- <cell>:1:8: an interval with months is not supported as a value of its own: it has no exact duration
--   SELECT INTERVAL '1 month' FROM trips
--          ^^^^^^^^^^^^^^^^^^
--   hint: add it to a time, as in at + INTERVAL '1 month', or keep its text and cast that where it is added: at + CAST(s AS INTERVAL)
