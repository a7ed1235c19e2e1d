SELECT t.id FROM trips AS t JOIN users AS u ON t.name = u.name;
SELECT t.id FROM trips AS t JOIN users AS u ON t.name = lower(u.id);
SELECT t.id FROM trips AS t JOIN users AS u ON t.seats < u.age;
SELECT t.id FROM trips AS t LEFT JOIN users AS u ON t.name = u.id AND t.seats < u.age;
SELECT t.id FROM trips AS t LEFT JOIN users AS u ON t.name = u.id AND t.seats > 2;
SELECT t.id FROM trips AS t JOIN prices AS p ON t.seats = p.zone;
SELECT t.id FROM trips AS t JOIN users AS u ON t.name = u.id AND t."userId" = u.id;
SELECT t.id FROM trips AS t JOIN (SELECT id, age FROM users WHERE age > 1) AS u ON t.name = u.id AND u.age < 9
-- error
-- <cell>:1:57: the right-side of a look-up join condition must be a PRIMARY KEY column, but 'name' is not
--   SELECT t.id FROM trips AS t JOIN users AS u ON t.name = u.name;
--                                                           ^^^^^^
--   hint: 'users' is looked up by id
-- <cell>:2:57: invalid right-side condition for lookup join: `lower("u.id")`; only column references are supported
--   SELECT t.id FROM trips AS t JOIN users AS u ON t.name = lower(u.id);
--                                                           ^^^^^^^^^^^
--   hint: compute on the other side of the equality
-- <cell>:3:34: filter join conditions are not supported for lookup joins; must have an equality condition
--   SELECT t.id FROM trips AS t JOIN users AS u ON t.seats < u.age;
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write ON stream.x = users.id, and the rest in WHERE
-- <cell>:4:71: filter join conditions are not supported for lookup joins; must have an equality condition
--   SELECT t.id FROM trips AS t LEFT JOIN users AS u ON t.name = u.id AND t.seats < u.age;
--                                                                         ^^^^^^^^^^^^^^^
--   hint: write ON stream.x = users.id, and the rest in WHERE
-- <cell>:5:71: filter join conditions are not supported for lookup joins; must have an equality condition
--   SELECT t.id FROM trips AS t LEFT JOIN users AS u ON t.name = u.id AND t.seats > 2;
--                                                                         ^^^^^^^^^^^
--   hint: write ON stream.x = users.id, and the rest in WHERE
-- <cell>:6:34: a lookup compares each PRIMARY KEY column once: 'day' is missing
--   SELECT t.id FROM trips AS t JOIN prices AS p ON t.seats = p.zone;
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:7:34: a lookup compares each PRIMARY KEY column once: 'id' comes twice
--   SELECT t.id FROM trips AS t JOIN users AS u ON t.name = u.id AND t."userId" = u.id;
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:8:102: multiple filters found in lookup join, which is not supported
--   SELECT t.id FROM trips AS t JOIN (SELECT id, age FROM users WHERE age > 1) AS u ON t.name = u.id AND u.age < 9
--                                                                                                        ^^^^^^^^^
--   hint: write one of them in WHERE
