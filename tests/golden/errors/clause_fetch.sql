SELECT id FROM clicks FETCH FIRST 3 ROWS ONLY
-- error
-- <cell>:1:23: LIMIT is not currently supported (FETCH)
--   SELECT id FROM clicks FETCH FIRST 3 ROWS ONLY
--                         ^^^^^^^^^^^^^^^^^^^^^^^
