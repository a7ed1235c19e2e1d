CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:41: WATERMARK FOR field `t` has type BIGINT, but expected TIMESTAMP
--   CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                           ^
