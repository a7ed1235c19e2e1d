SELECT * FROM a.clicks
-- error
-- <cell>:1:15: a schema in a table name is not supported
--   SELECT * FROM a.clicks
--                 ^
