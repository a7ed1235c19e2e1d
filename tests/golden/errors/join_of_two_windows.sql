SELECT a.n FROM hourly AS a JOIN (SELECT count(*) AS m FROM clicks GROUP BY tumble('1 m')) AS b ON a.n = b.m; SELECT a.n FROM (SELECT count(*) AS n FROM clicks GROUP BY session('1 m')) AS a JOIN (SELECT count(*) AS n FROM clicks GROUP BY session('1 m')) AS b ON a.n = b.n
-- error
-- <cell>:1:42: can't handle mixed windowing between left and right
--   SELECT a.n FROM hourly AS a JOIN (SELECT count(*) AS m FROM clicks GROUP BY tumble('1 m')) AS b ON a.n = b.m; SELECT a.n FROM (SELECT count(*) AS n FROM clicks GROUP BY session('1 m')) AS a JOIN (SELE…
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: the left side is windowed by tumble(3600s), the right one by tumble(60s)
-- <cell>:1:204: can't handle session windows in joins
--   …P BY tumble('1 m')) AS b ON a.n = b.m; SELECT a.n FROM (SELECT count(*) AS n FROM clicks GROUP BY session('1 m')) AS a JOIN (SELECT count(*) AS n FROM clicks GROUP BY session('1 m')) AS b ON a.n = b.n
--                                                                                                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use tumble() or hop() on both sides
