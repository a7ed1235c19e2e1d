CREATE TABLE x (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:49: the type of the WATERMARK FOR expression must be NOT NULL
--   CREATE TABLE x (t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                   ^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write t TIMESTAMP NOT NULL
