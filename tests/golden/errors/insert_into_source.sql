INSERT INTO clicks SELECT id, at FROM clicks
-- error
-- <cell>:1:13: attempted to insert into table 'clicks', but it is a source
--   INSERT INTO clicks SELECT id, at FROM clicks
--               ^^^^^^
