CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', framing = 'newline', idle_micros = 5)
-- error
-- <cell>:1:104: Failed to create table x caused by the option 'framing' is not supported yet
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', framing = 'newline', idle_micros = 5)
--                                                                                                          ^^^^^^^^^^^^^^^^^^^
-- <cell>:1:125: Failed to create table x caused by the option 'idle_micros' is not supported yet
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json', framing = 'newline', idle_micros = 5)
--                                                                                                                               ^^^^^^^^^^^^^^^
