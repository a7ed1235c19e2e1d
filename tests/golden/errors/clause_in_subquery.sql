SELECT id FROM clicks WHERE id IN (SELECT id FROM trips)
-- error
-- <cell>:1:29: IN (subquery) is not supported: can't handle non-inner joins without windows
--   SELECT id FROM clicks WHERE id IN (SELECT id FROM trips)
--                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write JOIN (SELECT DISTINCT k FROM other) AS o ON t.k = o.k
