CREATE TABLE x (a INT, b STRUCT<start TIMESTAMP, end TIMESTAMP> GENERATED ALWAYS AS (tumble('1 second')) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
-- error
-- <cell>:1:86: time window function tumble is not allowed in this context. Are you missing a GROUP BY clause?
--   CREATE TABLE x (a INT, b STRUCT<start TIMESTAMP, end TIMESTAMP> GENERATED ALWAYS AS (tumble('1 second')) STORED) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json')
--                                                                                        ^^^^^^^^^^^^^^^^^^
--   hint: SELECT tumble(...) AS w and GROUP BY w; a query around that one can use w as any column
