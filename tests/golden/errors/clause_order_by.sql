SELECT id FROM clicks ORDER BY id
-- error
-- <cell>:1:32: ORDER BY is not currently supported
--   SELECT id FROM clicks ORDER BY id
--                                  ^^
