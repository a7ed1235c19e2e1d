SELECT id FROM trips WHERE name LIKE 'a' ESCAPE 'b'
-- error
-- <cell>:1:28: LIKE ... ESCAPE is not supported
--   SELECT id FROM trips WHERE name LIKE 'a' ESCAPE 'b'
--                              ^^^^^^^^^^^^^^^^^^^^^^^^
