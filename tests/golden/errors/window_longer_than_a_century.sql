SELECT count(*) FROM trips GROUP BY tumble(INTERVAL '3000000 days');
SELECT count(*) FROM trips GROUP BY session(INTERVAL '36526 days');
-- error
-- <cell>:1:37: the window is longer than a century
--   SELECT count(*) FROM trips GROUP BY tumble(INTERVAL '3000000 days');
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: a GROUP BY without a window covers all rows
-- <cell>:2:37: the window is longer than a century
--   SELECT count(*) FROM trips GROUP BY session(INTERVAL '36526 days');
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: a GROUP BY without a window covers all rows
