SELECT _timestamp FROM clicks
-- error
-- <cell>:1:8: column '_timestamp' not found
--   SELECT _timestamp FROM clicks
--          ^^^^^^^^^^
--   hint: known: at, id
