CREATE TABLE x (a STRUCT<b INT, c TEXT, b TEXT>, d STRUCT<e STRUCT<f INT, "f" INT>>[], g STRUCT<h INT, H INT>) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
SELECT place::STRUCT<city TEXT, city TEXT> FROM trips
-- error
-- <cell>:1:41: the struct's field 'b' is declared twice
--   CREATE TABLE x (a STRUCT<b INT, c TEXT, b TEXT>, d STRUCT<e STRUCT<f INT, "f" INT>>[], g STRUCT<h INT, H INT>) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
--                                           ^^^^^^
--   hint: give each field a name of its own
-- <cell>:1:75: the struct's field 'f' is declared twice
--   CREATE TABLE x (a STRUCT<b INT, c TEXT, b TEXT>, d STRUCT<e STRUCT<f INT, "f" INT>>[], g STRUCT<h INT, H INT>) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
--                                                                             ^^^^^^^
--   hint: give each field a name of its own
-- <cell>:2:33: the struct's field 'city' is declared twice
--   SELECT place::STRUCT<city TEXT, city TEXT> FROM trips
--                                   ^^^^^^^^^
--   hint: give each field a name of its own
