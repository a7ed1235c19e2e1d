SELECT q.name, u.age FROM (SELECT name, count(*) AS n FROM trips GROUP BY name) AS q JOIN users AS u ON q.name = u.id;
SELECT q.name, a.name AS airline FROM (SELECT name, count(*) AS n FROM trips GROUP BY name) AS q JOIN airlines AS a ON concat(q.name, uuid()) = a.carrier;
SELECT q.name, a.name AS airline FROM (SELECT t.name FROM trips AS t LEFT JOIN clicks AS c ON t.id = c.id) AS q JOIN airlines AS a ON concat(q.name, random()) = a.carrier
-- error
-- <cell>:1:91: a lookup in 'users' for updating rows is not supported: when a row is taken back, another value may be found
--   SELECT q.name, u.age FROM (SELECT name, count(*) AS n FROM trips GROUP BY name) AS q JOIN users AS u ON q.name = u.id;
--                                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: look up before the rows are aggregated or joined
-- <cell>:2:135: uuid() over updating rows is not supported: it gives another text when a row is taken back
--   SELECT q.name, a.name AS airline FROM (SELECT name, count(*) AS n FROM trips GROUP BY name) AS q JOIN airlines AS a ON concat(q.name, uuid()) = a.carrier;
--                                                                                                                                         ^^^^^^
-- <cell>:3:150: random() over updating rows is not supported: it gives another number when a row is taken back
--   SELECT q.name, a.name AS airline FROM (SELECT t.name FROM trips AS t LEFT JOIN clicks AS c ON t.id = c.id) AS q JOIN airlines AS a ON concat(q.name, random()) = a.carrier
--                                                                                                                                                        ^^^^^^^^
