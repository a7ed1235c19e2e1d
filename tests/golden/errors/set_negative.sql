SET updating_ttl = INTERVAL '-1 hour'
-- error
-- <cell>:1:20: interval must not be negative
--   SET updating_ttl = INTERVAL '-1 hour'
--                      ^^^^^^^^^^^^^^^^^^
