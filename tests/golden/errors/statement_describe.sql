DESCRIBE click;
SHOW COLUMNS;
DESC
-- error
-- <cell>:1:1: Table click not found
--   DESCRIBE click;
--   ^^^^^^^^^^^^^^
--   hint: did you mean 'clicks'?
-- <cell>:2:6: syntax error at 'COLUMNS'
--   SHOW COLUMNS;
--        ^^^^^^^
--   hint: DESCRIBE name shows the columns of a table or view
-- <cell>:3:1: syntax error at 'DESC'
--   DESC
--   ^^^^
--   hint: write DESCRIBE and the name of a table or view
