SELECT id FROM clicks UNION ALL SELECT id, at FROM clicks
-- error
-- <cell>:1:8: UNION queries have different number of columns: 1, 2
--   SELECT id FROM clicks UNION ALL SELECT id, at FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
