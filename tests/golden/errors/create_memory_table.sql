CREATE TABLE m (a INT)
-- error
-- <cell>:1:14: memory tables are not supported yet
--   CREATE TABLE m (a INT)
--                ^
--   hint: set the 'connector' option in WITH (...)
