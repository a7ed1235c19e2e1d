SELECT count(*) FROM clicks GROUP BY hop('0 seconds', '1 second')
-- error
-- <cell>:1:42: the duration of a window must be longer than zero
--   SELECT count(*) FROM clicks GROUP BY hop('0 seconds', '1 second')
--                                            ^^^^^^^^^^^
--   hint: write how long it is, as in INTERVAL '1 minute'
