SELECT id.x FROM trips
-- error
-- <cell>:1:11: 'x' not found: BIGINT has no fields
--   SELECT id.x FROM trips
--             ^
