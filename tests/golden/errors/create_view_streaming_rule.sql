CREATE VIEW v AS SELECT count(*) FROM clicks GROUP BY hop('2 s', '1 s')
-- error
-- <cell>:1:55: hop() width 1s currently must be a multiple of slide 2s
--   CREATE VIEW v AS SELECT count(*) FROM clicks GROUP BY hop('2 s', '1 s')
--                                                         ^^^^^^^^^^^^^^^^^
--   hint: the slide comes first, then the width: write hop(INTERVAL '1 seconds', INTERVAL '2 seconds')
