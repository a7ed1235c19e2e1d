SELECT count(*) AS n FROM (SELECT rank() OVER (ORDER BY at) AS r FROM clicks) GROUP BY tumble('1 minute');
SELECT rank() OVER (ORDER BY random()) AS r FROM (SELECT DISTINCT id FROM clicks)
-- error
-- <cell>:1:8: a window aggregate over an updating input is not supported yet: rows that are taken back would have to leave their windows
--   SELECT count(*) AS n FROM (SELECT rank() OVER (ORDER BY at) AS r FROM clicks) GROUP BY tumble('1 minute');
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by the window first, then without it
-- <cell>:2:30: random() over updating rows is not supported: it gives another number when a row is taken back
--   SELECT rank() OVER (ORDER BY random()) AS r FROM (SELECT DISTINCT id FROM clicks)
--                                ^^^^^^^^
