SELECT p FROM clicks AS c (p)
-- error
-- <cell>:1:25: Source table contains 2 columns but only 1 names given as column alias
--   SELECT p FROM clicks AS c (p)
--                           ^^^^
--   hint: columns: id, at
