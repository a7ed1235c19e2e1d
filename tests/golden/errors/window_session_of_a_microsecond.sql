SELECT count(*) FROM trips GROUP BY session(INTERVAL '1 microsecond');
-- error
-- <cell>:1:37: the gap of a session is a microsecond or less
--   SELECT count(*) FROM trips GROUP BY session(INTERVAL '1 microsecond');
--                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: Spark keeps time in microseconds: use at least 2
