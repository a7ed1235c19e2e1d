SELECT id FROM clicks WHERE rank() OVER (ORDER BY at) = 1;
SELECT rank() OVER (ORDER BY at) AS n FROM clicks GROUP BY n;
SELECT id FROM clicks GROUP BY id, rank() OVER (ORDER BY at);
SELECT id, rank() OVER (ORDER BY id) AS n FROM clicks GROUP BY id HAVING n = 1;
SELECT sum(rank() OVER (ORDER BY at)) AS n FROM clicks;
SELECT count(*) FILTER (WHERE rank() OVER (ORDER BY at) = 1) AS n FROM clicks;
SELECT rank() OVER (ORDER BY rank() OVER (ORDER BY at)) AS n FROM clicks;
SELECT rank() OVER (ORDER BY at) AS n FROM clicks GROUP BY id
-- error
-- <cell>:1:29: OVER may only be called in the select list
--   SELECT id FROM clicks WHERE rank() OVER (ORDER BY at) = 1;
--                               ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:2:8: OVER may only be called in the select list
--   SELECT rank() OVER (ORDER BY at) AS n FROM clicks GROUP BY n;
--          ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:3:36: OVER may only be called in the select list
--   SELECT id FROM clicks GROUP BY id, rank() OVER (ORDER BY at);
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:4:12: OVER may only be called in the select list
--   SELECT id, rank() OVER (ORDER BY id) AS n FROM clicks GROUP BY id HAVING n = 1;
--              ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:5:12: OVER may only be called in the select list
--   SELECT sum(rank() OVER (ORDER BY at)) AS n FROM clicks;
--              ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:6:31: OVER may only be called in the select list
--   SELECT count(*) FILTER (WHERE rank() OVER (ORDER BY at) = 1) AS n FROM clicks;
--                                 ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:7:30: OVER may only be called in the select list
--   SELECT rank() OVER (ORDER BY rank() OVER (ORDER BY at)) AS n FROM clicks;
--                                ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: select it in a subquery, and use its name outside
-- <cell>:8:30: Column in SELECT must be in GROUP BY or an aggregate function: 'clicks.at' must appear in the GROUP BY clause or must be part of an aggregate function
--   SELECT rank() OVER (ORDER BY at) AS n FROM clicks GROUP BY id
--                                ^^
--   hint: add at to GROUP BY, or aggregate it
