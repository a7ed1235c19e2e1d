CREATE TABLE x (a INT) WITH (connector = 'single_file', connection_profile = 'mine')
-- error
-- <cell>:1:57: Failed to create table x caused by connection profile 'mine' not found
--   CREATE TABLE x (a INT) WITH (connector = 'single_file', connection_profile = 'mine')
--                                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
