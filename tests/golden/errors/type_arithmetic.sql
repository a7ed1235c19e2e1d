SELECT name + 1 FROM trips
-- error
-- <cell>:1:8: Cannot coerce arithmetic expression TEXT + BIGINT to valid types
--   SELECT name + 1 FROM trips
--          ^^^^^^^^
