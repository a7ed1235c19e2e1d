SET updating_ttl = INTERVAL '1 month'
-- error
-- <cell>:1:20: months are not supported in this interval
--   SET updating_ttl = INTERVAL '1 month'
--                      ^^^^^^^^^^^^^^^^^^
--   hint: write days, as in INTERVAL '30 days'
