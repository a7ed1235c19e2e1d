SELECT count(*) FROM clicks GROUP BY hop('banana', INTERVAL '1 minute');
SELECT count(*) FROM clicks GROUP BY hop(INTERVAL '1 minute', INTERVAL '5 foo');
SELECT count(*) FROM clicks GROUP BY hop(INTERVAL '1 minute', INTERVAL '2 months')
-- error
-- <cell>:1:42: expected an interval, but found 'banana'
--   SELECT count(*) FROM clicks GROUP BY hop('banana', INTERVAL '1 minute');
--                                            ^^^^^^^^
--   hint: write it as in INTERVAL '5 minutes'
-- <cell>:2:63: expected an interval, but found '5 foo'
--   SELECT count(*) FROM clicks GROUP BY hop(INTERVAL '1 minute', INTERVAL '5 foo');
--                                                                 ^^^^^^^^^^^^^^^^
--   hint: write it as in INTERVAL '5 minutes'
-- <cell>:3:63: Windows do not support durations specified as months
--   SELECT count(*) FROM clicks GROUP BY hop(INTERVAL '1 minute', INTERVAL '2 months')
--                                                                 ^^^^^^^^^^^^^^^^^^^
--   hint: write a number of days
