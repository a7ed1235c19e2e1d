SELECT name->'a' FROM trips
-- error
-- <cell>:1:8: the function json_get() is not supported yet
--   SELECT name->'a' FROM trips
--          ^^^^^^^^^
--   hint: declare the column STRUCT<a TYPE, ...> to read its fields
