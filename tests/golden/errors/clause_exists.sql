SELECT id FROM clicks WHERE EXISTS (SELECT id FROM trips)
-- error
-- <cell>:1:29: EXISTS is not supported
--   SELECT id FROM clicks WHERE EXISTS (SELECT id FROM trips)
--                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write JOIN (SELECT DISTINCT k FROM other) AS o ON t.k = o.k
