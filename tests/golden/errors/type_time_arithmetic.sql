SELECT at + 1 FROM trips
-- error
-- <cell>:1:8: Cannot coerce arithmetic expression TIMESTAMP + BIGINT to valid types
--   SELECT at + 1 FROM trips
--          ^^^^^^
