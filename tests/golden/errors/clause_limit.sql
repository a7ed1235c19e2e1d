SELECT id FROM clicks LIMIT 10
-- error
-- <cell>:1:29: LIMIT is not currently supported
--   SELECT id FROM clicks LIMIT 10
--                               ^^
