CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:41: WATERMARK FOR field `t` has type BIGINT, but expected TIMESTAMP
--   CREATE TABLE x (t BIGINT, WATERMARK FOR t) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                           ^
--   hint: write t BIGINT NOT NULL, event_time TIMESTAMP NOT NULL GENERATED ALWAYS AS (to_timestamp_millis(t)) STORED, WATERMARK FOR event_time AS event_time - INTERVAL '5 seconds'; to_timestamp counts seconds
