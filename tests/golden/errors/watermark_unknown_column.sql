CREATE TABLE x (t TIMESTAMP, WATERMARK FOR u) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:44: WATERMARK FOR field `u` does not exist in table
--   CREATE TABLE x (t TIMESTAMP, WATERMARK FOR u) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                              ^
--   hint: known: t
