SELECT count(*) AS n FROM (SELECT rank() OVER (ORDER BY at) AS r FROM clicks) GROUP BY session('1 minute');
SELECT rank() OVER (ORDER BY random()) AS r FROM (SELECT DISTINCT id FROM clicks)
-- error
-- <cell>:1:8: session() over an updating input is not supported: a row that is taken back may split a session
--   SELECT count(*) AS n FROM (SELECT rank() OVER (ORDER BY at) AS r FROM clicks) GROUP BY session('1 minute');
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: use tumble() or hop()
-- <cell>:2:30: random() over updating rows is not supported: it gives another number when a row is taken back
--   SELECT rank() OVER (ORDER BY random()) AS r FROM (SELECT DISTINCT id FROM clicks)
--                                ^^^^^^^^
