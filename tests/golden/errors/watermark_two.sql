CREATE TABLE x (t TIMESTAMP, WATERMARK FOR t, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:47: Only one WATERMARK FOR constraint is allowed per table
--   CREATE TABLE x (t TIMESTAMP, WATERMARK FOR t, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                 ^^^^^^^^^^^^^^^
