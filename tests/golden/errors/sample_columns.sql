CREATE TABLE x (a INT) WITH (connector = 'sample', dataset = 'flights')
-- error
-- <cell>:1:14: Failed to create table x caused by invalid schema for sample source; omit fields to rely on inference
--   CREATE TABLE x (a INT) WITH (connector = 'sample', dataset = 'flights')
--                ^
--   hint: its columns are: sched_dep TIMESTAMP NOT NULL, dep TIMESTAMP, dep_delay INT, arr_delay INT, carrier TEXT NOT NULL, flight INT NOT NULL, tailnum TEXT, origin TEXT NOT NULL, dest TEXT NOT NULL, air_time INT, distance INT NOT NULL
