SELECT multi_hash(id), now() FROM clicks
-- error
-- <cell>:1:8: the function multi_hash() is not supported yet
--   SELECT multi_hash(id), now() FROM clicks
--          ^^^^^^^^^^^^^^
-- <cell>:1:24: the function now() is not supported yet
--   SELECT multi_hash(id), now() FROM clicks
--                          ^^^^^
