SELECT id FROM clicks UNION SELECT id FROM clicks
-- error
-- <cell>:1:8: UNION is an updating aggregate over its branches, which is not supported yet
--   SELECT id FROM clicks UNION SELECT id FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write UNION ALL
