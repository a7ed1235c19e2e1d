SELECT * EXCLUDE (id) FROM clicks
-- error
-- <cell>:1:8: * EXCEPT is not supported
--   SELECT * EXCLUDE (id) FROM clicks
--          ^^^^^^^^^^^^^
--   hint: name the columns
