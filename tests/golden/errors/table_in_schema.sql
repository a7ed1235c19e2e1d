SELECT * FROM a.clicks
-- error
-- <cell>:1:15: a schema in a table name is not supported
--   SELECT * FROM a.clicks
--                 ^
--   hint: write clicks: a table has a name alone; %arroyo peek clicks writes the table of a topic
