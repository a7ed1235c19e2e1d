SELECT id FROM clicks WHERE id > 1 oops
-- error
-- <cell>:1:36: syntax error at 'oops'
--   SELECT id FROM clicks WHERE id > 1 oops
--                                      ^^^^
