SELECT id, FROM clicks
-- error
-- <cell>:1:12: syntax error at 'FROM'
--   SELECT id, FROM clicks
--              ^^^^
--   hint: remove the comma before FROM
