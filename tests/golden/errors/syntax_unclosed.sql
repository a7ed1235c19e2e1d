SELECT f(id FROM clicks
-- error
-- <cell>:1:13: syntax error at 'FROM': expected )
--   SELECT f(id FROM clicks
--               ^^^^
