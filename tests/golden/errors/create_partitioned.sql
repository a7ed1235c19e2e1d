CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json') PARTITIONED BY (identity(a))
-- error
-- <cell>:1:120: PARTITIONED BY is not supported
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json') PARTITIONED BY (identity(a))
--                                                                                                                          ^^^^^^^^^^^
--   hint: remove it, or set the option that the connector has for it in WITH (...)
