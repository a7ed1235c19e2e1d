CREATE TABLE x (t TIMESTAMP NOT NULL, n BIGINT NOT NULL, WATERMARK FOR t AS n) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:77: the type of the WATERMARK FOR expression must be TIMESTAMP, but was BIGINT
--   CREATE TABLE x (t TIMESTAMP NOT NULL, n BIGINT NOT NULL, WATERMARK FOR t AS n) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                                               ^
--   hint: write t - INTERVAL '5 seconds'
