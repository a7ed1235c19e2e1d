SELECT id FROM trips WHERE seats + 1
-- error
-- <cell>:1:28: Cannot create filter with non-boolean predicate: WHERE is given BIGINT
--   SELECT id FROM trips WHERE seats + 1
--                              ^^^^^^^^^
--   hint: compare the number, as in x <> 0
