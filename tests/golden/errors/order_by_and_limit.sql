SELECT id FROM clicks ORDER BY idd;
SELECT id FROM clicks ORDER BY id + 1;
SELECT id FROM clicks ORDER BY 2;
SELECT id FROM clicks LIMIT 'a';
SELECT id FROM clicks LIMIT 5 OFFSET 2
-- error
-- <cell>:1:32: ORDER BY takes columns of the result: 'idd' is not one
--   SELECT id FROM clicks ORDER BY idd;
--                                  ^^^
--   hint: did you mean 'id'?
-- <cell>:2:32: ORDER BY takes columns of the result
--   SELECT id FROM clicks ORDER BY id + 1;
--                                  ^^^^^^
--   hint: select the value AS a name, and ORDER BY that
-- <cell>:3:32: ORDER BY position 2 is not in the select list
--   SELECT id FROM clicks ORDER BY 2;
--                                  ^
-- <cell>:4:29: LIMIT takes a whole number
--   SELECT id FROM clicks LIMIT 'a';
--                               ^^^
-- <cell>:5:38: LIMIT is not currently supported (OFFSET)
--   SELECT id FROM clicks LIMIT 5 OFFSET 2
--                                        ^
--   hint: remove OFFSET: LIMIT n alone ends a cell after n rows
