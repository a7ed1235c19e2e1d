SELECT FROM clicks;
SELECT id FROM clicks;
CREATE TABLE (a INT);
foo bar
-- error
-- <cell>:1:1: syntax error: SELECT names no column
--   SELECT FROM clicks;
--   ^^^^^^^^^^^^^^^^^^
-- <cell>:3:14: syntax error at '(': expected table name
--   CREATE TABLE (a INT);
--                ^
-- <cell>:4:1: syntax error at 'foo'
--   foo bar
--   ^^^
--   hint: a statement starts with CREATE, INSERT, SELECT, WITH, SET, SHOW, DESCRIBE, DROP or EXPLAIN
