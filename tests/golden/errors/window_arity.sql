SELECT count(*) FROM clicks GROUP BY hop('1 second')
-- error
-- <cell>:1:38: Function 'hop' expects 2 arguments but received 1
--   SELECT count(*) FROM clicks GROUP BY hop('1 second')
--                                        ^^^^^^^^^^^^^^^
--   hint: write hop(slide INTERVAL, width INTERVAL)
