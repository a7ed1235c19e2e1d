CREATE TABLE x (a TIMESTAMP(5), b DECIMAL(40, 2)) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:19: unsupported precision 5 -- supported precisions are 0 (seconds), 3 (milliseconds), 6 (microseconds), and 9 (nanoseconds)
--   CREATE TABLE x (a TIMESTAMP(5), b DECIMAL(40, 2)) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                     ^^^^^^^^^^^^
-- <cell>:1:35: DECIMAL(40, 2) is not valid: 0 < precision <= 38 and scale <= precision
--   CREATE TABLE x (a TIMESTAMP(5), b DECIMAL(40, 2)) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                     ^^^^^^^^^^^^^^
