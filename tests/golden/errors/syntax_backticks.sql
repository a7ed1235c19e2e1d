SELECT `id` FROM clicks
-- error
-- <cell>:1:8: syntax error at '`': backticks do not quote a name
--   SELECT `id` FROM clicks
--          ^^^^
--   hint: write it in double quotes, as in "name"
