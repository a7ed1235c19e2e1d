SELECT tumble('1 minute') AS w, count(*) AS n FROM (SELECT id, max(at) AS at FROM clicks GROUP BY id) GROUP BY w
-- error
-- <cell>:1:8: a window aggregate over an updating input is not supported yet: rows that are taken back would have to leave their windows
--   SELECT tumble('1 minute') AS w, count(*) AS n FROM (SELECT id, max(at) AS at FROM clicks GROUP BY id) GROUP BY w
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by the window first, then without it
