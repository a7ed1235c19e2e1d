SELECT _timestamp FROM clicks
-- error
-- <cell>:1:8: column '_timestamp' not found
--   SELECT _timestamp FROM clicks
--          ^^^^^^^^^^
--   hint: the event time of a row is row_time()
