SELECT id FROM trips WHERE seats LIKE '1%'
-- error
-- <cell>:1:28: There isn't a common type to coerce INT and TEXT in LIKE expression
--   SELECT id FROM trips WHERE seats LIKE '1%'
--                              ^^^^^
