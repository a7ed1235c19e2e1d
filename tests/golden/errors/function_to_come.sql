SELECT multi_hash(id), now() FROM clicks
-- error
-- <cell>:1:8: the function multi_hash() is not supported yet
--   SELECT multi_hash(id), now() FROM clicks
--          ^^^^^^^^^^^^^^
-- <cell>:1:24: the function now() is not supported yet
--   SELECT multi_hash(id), now() FROM clicks
--                          ^^^^^
--   hint: the time of a row is row_time(), which is its arrival where the table has no WATERMARK; a fixed time is a parameter, as in at > :since
