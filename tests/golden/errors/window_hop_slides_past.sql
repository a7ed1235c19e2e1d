SELECT count(*) FROM clicks GROUP BY hop('10 seconds', '4 seconds')
-- error
-- <cell>:1:38: hop() width 4s currently must be a multiple of slide 10s
--   SELECT count(*) FROM clicks GROUP BY hop('10 seconds', '4 seconds')
--                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the slide comes first, then the width: write hop(INTERVAL '4 seconds', INTERVAL '10 seconds')
