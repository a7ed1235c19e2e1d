HELLO world
-- error
-- <cell>:1:1: syntax error at 'HELLO'
--   HELLO world
--   ^^^^^
--   hint: a statement starts with CREATE, INSERT, SELECT, WITH, SET, SHOW, DESCRIBE, DROP or EXPLAIN
