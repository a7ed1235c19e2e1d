SELECT count(*) FROM clicks GROUP BY hop('2 s', '1 s');
SELECT max(n) AS top FROM hourly GROUP BY tumble('2 hours')
-- error
-- <cell>:1:38: hop() width 1s currently must be a multiple of slide 2s
--   SELECT count(*) FROM clicks GROUP BY hop('2 s', '1 s');
--                                        ^^^^^^^^^^^^^^^^^
--   hint: the slide comes first, then the width: write hop(INTERVAL '1 seconds', INTERVAL '2 seconds')
-- <cell>:2:43: window in group by does not match input window
--   SELECT max(n) AS top FROM hourly GROUP BY tumble('2 hours')
--                                             ^^^^^^^^^^^^^^^^^
--   hint: the input has the window tumble(3600s): GROUP BY its column, or use the other window in the input
