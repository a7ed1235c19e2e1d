SELECT * FROM generate_series(1, 3)
-- error
-- <cell>:1:15: FROM takes a table or a query: functions, LATERAL and VALUES are not supported
--   SELECT * FROM generate_series(1, 3)
--                 ^^^^^^^^^^^^^^^^^^^^^
