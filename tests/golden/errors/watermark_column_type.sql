CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:41: WATERMARK FOR field `t` has type BIGINT, but expected TIMESTAMP
--   CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                           ^
--   hint: add event_time TIMESTAMP GENERATED ALWAYS AS (to_timestamp_millis(t)), WATERMARK FOR event_time; to_timestamp counts seconds
