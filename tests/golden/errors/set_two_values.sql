SET updating_ttl = '1 hour', '2 hours'
-- error
-- <cell>:1:1: invalid `SET updating_ttl` call; expected exactly one expression
--   SET updating_ttl = '1 hour', '2 hours'
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
