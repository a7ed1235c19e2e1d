SET updating_ttl
-- error
-- <cell>:1:1: invalid syntax for `SET` call
--   SET updating_ttl
--   ^^^^^^^^^^^^^^^^
