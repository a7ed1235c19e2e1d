CREATE TEMPORARY TABLE m (a INT) WITH (connector = 'redis')
-- error
-- <cell>:1:24: lookup tables (CREATE TEMPORARY TABLE) are not supported yet
--   CREATE TEMPORARY TABLE m (a INT) WITH (connector = 'redis')
--                          ^^^^^^^^
