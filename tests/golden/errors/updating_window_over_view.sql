CREATE VIEW latest AS SELECT DISTINCT id FROM clicks;
SELECT count(*) AS n FROM (SELECT id FROM latest WHERE id > 3 UNION ALL SELECT id FROM clicks) GROUP BY session('5 s')
-- error
-- <cell>:2:8: session() over an updating input is not supported: a row that is taken back may split a session
--   SELECT count(*) AS n FROM (SELECT id FROM latest WHERE id > 3 UNION ALL SELECT id FROM clicks) GROUP BY session('5 s')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use tumble() or hop()
