SELECT id FROM clicks WHERE EXISTS (SELECT id FROM trips)
-- error
-- <cell>:1:29: EXISTS is not supported
--   SELECT id FROM clicks WHERE EXISTS (SELECT id FROM trips)
--                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write a JOIN with the other table
