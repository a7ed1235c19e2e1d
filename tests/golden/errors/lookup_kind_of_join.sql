SELECT t.name FROM trips AS t RIGHT JOIN users AS u ON t.name = u.id;
SELECT t.name FROM trips AS t FULL JOIN users AS u ON t.name = u.id;
SELECT t.name FROM trips AS t CROSS JOIN users AS u
-- error
-- <cell>:1:42: Right join is not supported for lookup tables; must be a left or inner join
--   SELECT t.name FROM trips AS t RIGHT JOIN users AS u ON t.name = u.id;
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:2:41: Full join is not supported for lookup tables; must be a left or inner join
--   SELECT t.name FROM trips AS t FULL JOIN users AS u ON t.name = u.id;
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:42: filter join conditions are not supported for lookup joins; must have an equality condition
--   SELECT t.name FROM trips AS t CROSS JOIN users AS u
--                                            ^^^^^^^^^^
--   hint: write ON stream.x = users.id, and the rest in WHERE
