SELECT name->'a' FROM trips
-- error
-- <cell>:1:8: Invalid function 'json_get'
--   SELECT name->'a' FROM trips
--          ^^^^^^^^^
