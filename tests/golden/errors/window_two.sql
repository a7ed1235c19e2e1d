SELECT count(*) FROM clicks GROUP BY tumble('1 second'), hop('1 second', '2 seconds')
-- error
-- <cell>:1:58: do not support 2 window expressions in group by
--   SELECT count(*) FROM clicks GROUP BY tumble('1 second'), hop('1 second', '2 seconds')
--                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: GROUP BY one of them, and write a query for the other
