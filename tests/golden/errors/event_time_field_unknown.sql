CREATE TABLE x (a BIGINT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', event_time_field = a)
-- error
-- <cell>:1:107: field a not found or not a timestamp
--   CREATE TABLE x (a BIGINT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', event_time_field = a)
--                                                                                                             ^^^^^^^^^^^^^^^^^^^^
