CREATE TEMPORARY TABLE a (k TEXT PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE b (k TEXT METADATA FROM 'key', n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE c (k INT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE d (k TEXT METADATA FROM 'topic' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE e (k TEXT METADATA FROM 'key' PRIMARY KEY, j TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE f (k TEXT METADATA FROM 'key' PRIMARY KEY) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE g (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT, m INT GENERATED ALWAYS AS (n), at TIMESTAMP, WATERMARK FOR at) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
CREATE TEMPORARY TABLE h (k TEXT, n INT) WITH (connector = 'single_file', path = '/h', format = 'json');
CREATE TEMPORARY TABLE i (k INT PRIMARY KEY, j TEXT[] PRIMARY KEY, n INT) WITH (connector = 'single_file', path = '/i', format = 'debezium_json');
CREATE TEMPORARY TABLE j WITH (connector = 'sample', dataset = 'flights');
CREATE TEMPORARY TABLE k WITH (connector = 'single_file', path = '/k', format = 'json')
-- error
-- <cell>:1:27: Failed to create table a caused by Redis lookup tables must have a PRIMARY KEY field defined as `field_name TEXT METADATA FROM 'key'`
--   CREATE TEMPORARY TABLE a (k TEXT PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                             ^^^^^^
--   hint: write field_name TEXT METADATA FROM 'key' PRIMARY KEY
-- <cell>:2:24: Failed to create table b caused by Redis lookup tables must have a PRIMARY KEY field defined as `field_name TEXT METADATA FROM 'key'`
--   CREATE TEMPORARY TABLE b (k TEXT METADATA FROM 'key', n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                          ^
--   hint: write field_name TEXT METADATA FROM 'key' PRIMARY KEY
-- <cell>:3:29: incorrect data type for metadata field 'key'; expected TEXT, but found INT
--   CREATE TEMPORARY TABLE c (k INT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                               ^^^
--   hint: write k TEXT METADATA FROM 'key'
-- <cell>:4:27: unknown metadata field 'topic' for d connector 'redis'
--   CREATE TEMPORARY TABLE d (k TEXT METADATA FROM 'topic' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                             ^^^^^^
--   hint: known: key
-- <cell>:5:67: Failed to create table e caused by a record has one key: it is declared twice
--   CREATE TEMPORARY TABLE e (k TEXT METADATA FROM 'key' PRIMARY KEY, j TEXT METADATA FROM 'key' PRIMARY KEY, n INT) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                                                                     ^^^^^^
-- <cell>:6:24: Failed to create table f caused by a lookup table needs columns beside its key
--   CREATE TEMPORARY TABLE f (k TEXT METADATA FROM 'key' PRIMARY KEY) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                          ^
-- <cell>:7:74: Failed to create table g caused by a generated column of a lookup table is not supported
--   CREATE TEMPORARY TABLE g (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT, m INT GENERATED ALWAYS AS (n), at TIMESTAMP, WATERMARK FOR at) WITH (connector = 'redis', address = 'redis://localhost:6379', f…
--                                                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: compute 'm' in the query
-- <cell>:7:119: Failed to create table g caused by a lookup table has no event time and no watermark
--   … TABLE g (k TEXT METADATA FROM 'key' PRIMARY KEY, n INT, m INT GENERATED ALWAYS AS (n), at TIMESTAMP, WATERMARK FOR at) WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
--                                                                                                          ^^^^^^^^^^^^^^^^
--   hint: rows of a lookup join keep those of the stream
-- <cell>:8:24: Failed to create table h caused by a lookup table must have a PRIMARY KEY: it is looked up by that
--   CREATE TEMPORARY TABLE h (k TEXT, n INT) WITH (connector = 'single_file', path = '/h', format = 'json');
--                          ^
--   hint: write PRIMARY KEY after the type of a column whose values are there once
-- <cell>:9:46: Failed to create table i caused by the PRIMARY KEY 'j' of a lookup table is TEXT[]
--   CREATE TEMPORARY TABLE i (k INT PRIMARY KEY, j TEXT[] PRIMARY KEY, n INT) WITH (connector = 'single_file', path = '/i', format = 'debezium_json');
--                                                ^^^^^^^^
--   hint: a key can be a number, a text, a time or a BOOLEAN
-- <cell>:9:121: Failed to create table i caused by a lookup table of changes (format 'debezium_json') is not supported
--   CREATE TEMPORARY TABLE i (k INT PRIMARY KEY, j TEXT[] PRIMARY KEY, n INT) WITH (connector = 'single_file', path = '/i', format = 'debezium_json');
--                                                                                                                           ^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:10:24: Failed to create table j caused by a lookup table must have a PRIMARY KEY: it is looked up by that
--   CREATE TEMPORARY TABLE j WITH (connector = 'sample', dataset = 'flights');
--                          ^
--   hint: write PRIMARY KEY after the type of a column whose values are there once
-- <cell>:11:24: Failed to create table k caused by a lookup needs its columns: only sources with columns of their own can omit them
--   CREATE TEMPORARY TABLE k WITH (connector = 'single_file', path = '/k', format = 'json')
--                          ^
