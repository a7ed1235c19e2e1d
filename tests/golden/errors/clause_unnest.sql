SELECT unnest(tags) FROM trips
-- error
-- <cell>:1:8: the function unnest() is not supported yet
--   SELECT unnest(tags) FROM trips
--          ^^^^^^^^^^^^
