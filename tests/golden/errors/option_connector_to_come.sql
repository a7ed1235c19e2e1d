CREATE TABLE x (a INT) WITH (connector = 'kafka', topic = 't')
-- error
-- <cell>:1:30: Failed to create table x caused by the connector 'kafka' is not supported yet
--   CREATE TABLE x (a INT) WITH (connector = 'kafka', topic = 't')
--                                ^^^^^^^^^^^^^^^^^^^
