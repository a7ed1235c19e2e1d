SELECT n, random() AS r FROM (SELECT count(*) AS n FROM clicks);
SELECT row_time() AS t, n FROM (SELECT id, count(*) AS n FROM clicks GROUP BY id) WHERE uuid() <> ''
-- error
-- <cell>:1:11: random() over updating rows is not supported: it gives another number when a row is taken back
--   SELECT n, random() AS r FROM (SELECT count(*) AS n FROM clicks);
--             ^^^^^^^^
-- <cell>:2:89: uuid() over updating rows is not supported: it gives another text when a row is taken back
--   SELECT row_time() AS t, n FROM (SELECT id, count(*) AS n FROM clicks GROUP BY id) WHERE uuid() <> ''
--                                                                                           ^^^^^^
