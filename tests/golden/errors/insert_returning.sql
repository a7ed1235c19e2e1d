INSERT INTO hole SELECT id FROM clicks RETURNING id
-- error
-- <cell>:1:50: syntax error at 'id'
--   INSERT INTO hole SELECT id FROM clicks RETURNING id
--                                                    ^^
--   hint: remove RETURNING: an INSERT gives no rows
