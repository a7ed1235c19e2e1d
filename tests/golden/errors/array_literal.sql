SELECT [1, 2] FROM clicks
-- error
-- <cell>:1:9: an array literal is not supported
--   SELECT [1, 2] FROM clicks
--           ^^^^
