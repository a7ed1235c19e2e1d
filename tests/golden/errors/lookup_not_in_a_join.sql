SELECT name FROM users;
SELECT c.id FROM clicks AS c JOIN (SELECT id, upper(name) AS name FROM users) AS u ON c.id = u.id;
SELECT name FROM trips UNION ALL SELECT name FROM users;
SELECT u.name FROM users AS u JOIN clicks AS c ON c.id = u.id;
SELECT u.name FROM users AS u JOIN airlines AS a ON a.carrier = u.id
-- error
-- <cell>:1:18: lookup tables must be used directly within a join
--   SELECT name FROM users;
--                    ^^^^^
--   hint: write FROM stream JOIN users ON stream.x = users.id
-- <cell>:2:72: lookup tables must be used directly within a join
--   SELECT c.id FROM clicks AS c JOIN (SELECT id, upper(name) AS name FROM users) AS u ON c.id = u.id;
--                                                                          ^^^^^
--   hint: write FROM stream JOIN users ON stream.x = users.id
-- <cell>:3:51: lookup tables must be used directly within a join
--   SELECT name FROM trips UNION ALL SELECT name FROM users;
--                                                     ^^^^^
--   hint: write FROM stream JOIN users ON stream.x = users.id
-- <cell>:4:36: lookup sources must be on the right side of an inner or left join
--   SELECT u.name FROM users AS u JOIN clicks AS c ON c.id = u.id;
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write FROM stream JOIN lookup_table
-- <cell>:5:36: lookup sources must be on the right side of an inner or left join
--   SELECT u.name FROM users AS u JOIN airlines AS a ON a.carrier = u.id
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write FROM stream JOIN lookup_table
