CREATE VIEW latest AS SELECT DISTINCT id FROM clicks;
SELECT count(*) AS n FROM (SELECT id FROM latest WHERE id > 3 UNION ALL SELECT id FROM clicks) GROUP BY session('5 s')
-- error
-- <cell>:2:8: a window aggregate over an updating input is not supported yet: rows that are taken back would have to leave their windows
--   SELECT count(*) AS n FROM (SELECT id FROM latest WHERE id > 3 UNION ALL SELECT id FROM clicks) GROUP BY session('5 s')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by the window first, then without it
