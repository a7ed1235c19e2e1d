SELECT count(*) FROM clicks GROUP BY tumble(INTERVAL '1 month')
-- error
-- <cell>:1:45: Windows do not support durations specified as months
--   SELECT count(*) FROM clicks GROUP BY tumble(INTERVAL '1 month')
--                                               ^^^^^^^^^^^^^^^^^^
--   hint: write a number of days
