CREATE TABLE a;
CREATE TABLE b () WITH (conector = 'kafka');
CREATE TABLE c (n INT) WITH (connector = 'memory', format = 'json');
CREATE TABLE d (n INT, m INT GENERATED ALWAYS AS (n + 1));
CREATE TABLE e (n INT, n TEXT);
CREATE TABLE f (n INT, at BIGINT METADATA FROM 'offset');
CREATE TEMPORARY TABLE g (n INT);
CREATE TABLE h (n INT, m WHAT);
-- error
-- <cell>:1:14: the memory table 'a' has no columns
--   CREATE TABLE a;
--                ^
--   hint: write CREATE TABLE a (column TYPE, ...), or CREATE VIEW a AS SELECT ...
-- <cell>:2:25: Memory tables do not allow with options; to create a connection table set the 'connector' option
--   CREATE TABLE b () WITH (conector = 'kafka');
--                           ^^^^^^^^^^^^^^^^^^
--   hint: write connector = 'kafka' in place of conector
-- <cell>:3:52: Memory tables do not allow with options
--   CREATE TABLE c (n INT) WITH (connector = 'memory', format = 'json');
--                                                      ^^^^^^^^^^^^^^^
--   hint: remove it
-- <cell>:4:24: Virtual fields are not supported in memory tables; instead write a query
--   CREATE TABLE d (n INT, m INT GENERATED ALWAYS AS (n + 1));
--                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: declare m as the others, and compute it in the INSERT
-- <cell>:5:24: invalid field names in schema: the column 'n' is declared twice
--   CREATE TABLE e (n INT, n TEXT);
--                          ^
-- <cell>:6:24: unknown metadata field 'offset' for the memory table f
--   CREATE TABLE f (n INT, at BIGINT METADATA FROM 'offset');
--                          ^^^^^^^^^
-- <cell>:7:24: a temporary table is looked up: it needs a connector
--   CREATE TEMPORARY TABLE g (n INT);
--                          ^
--   hint: write CREATE TEMPORARY TABLE ... WITH (connector = '...', ...)
-- <cell>:8:26: Unsupported SQL type 'WHAT'
--   CREATE TABLE h (n INT, m WHAT);
--                            ^^^^
--   hint: the types are: BIGINT, BOOLEAN, BYTEA, DATE, DECIMAL, DOUBLE, FLOAT, INT, INTEGER, INTERVAL, JSON, SMALLINT, TEXT, TIME, TIMESTAMP, TINYINT
