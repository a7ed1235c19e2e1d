SELECT unnest(tags) FROM trips
-- error
-- <cell>:1:8: the function unnest() is not supported yet
--   SELECT unnest(tags) FROM trips
--          ^^^^^^^^^^^^
--   hint: a list cannot become rows yet: read an element with tags[1], or look for one with array_has(tags, x)
