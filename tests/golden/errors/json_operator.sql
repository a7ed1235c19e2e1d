SELECT name->'a' FROM trips
-- error
-- <cell>:1:8: the function json_get() is not supported yet
--   SELECT name->'a' FROM trips
--          ^^^^^^^^^
