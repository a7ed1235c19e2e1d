CREATE TABLE x (a BIGINT NOT NULL, t TIMESTAMP NOT NULL GENERATED ALWAYS AS (CAST(a AS TIMESTAMP)), WATERMARK FOR t AS t - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:120: could not plan watermark expression: column 't' not found
--   …IGINT NOT NULL, t TIMESTAMP NOT NULL GENERATED ALWAYS AS (CAST(a AS TIMESTAMP)), WATERMARK FOR t AS t - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'js…
--                                                                                                        ^
--   hint: known: a
