CREATE TABLE patient (
    t TIMESTAMP NOT NULL, WATERMARK FOR t AS t - INTERVAL '36526 days'
) WITH (connector = 'single_file', path = 'x.json', type = 'source', format = 'json');
-- error
-- <cell>:2:46: the delay of the watermark is longer than a century
--       t TIMESTAMP NOT NULL, WATERMARK FOR t AS t - INTERVAL '36526 days'
--                                                ^^^^^^^^^^^^^^^^^^^^^^^^^
