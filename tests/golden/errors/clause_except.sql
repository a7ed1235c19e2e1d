SELECT id FROM clicks EXCEPT SELECT id FROM clicks
-- error
-- <cell>:1:8: EXCEPT is not supported
--   SELECT id FROM clicks EXCEPT SELECT id FROM clicks
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
