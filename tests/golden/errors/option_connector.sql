CREATE TABLE x (a INT) WITH (connector = 'kafak')
-- error
-- <cell>:1:30: Failed to create table x caused by Unknown connector 'kafak'
--   CREATE TABLE x (a INT) WITH (connector = 'kafak')
--                                ^^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'kafka'?
