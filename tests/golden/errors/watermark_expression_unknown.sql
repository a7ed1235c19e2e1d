CREATE TABLE x (t TIMESTAMP NOT NULL, WATERMARK FOR t AS tt - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:58: could not plan watermark expression: column 'tt' not found
--   CREATE TABLE x (t TIMESTAMP NOT NULL, WATERMARK FOR t AS tt - INTERVAL '1 second') WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                            ^^
--   hint: did you mean 't'?
