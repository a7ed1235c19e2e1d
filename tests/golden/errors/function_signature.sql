SELECT upper(name, name) FROM trips
-- error
-- <cell>:1:8: upper() does not take (TEXT, TEXT)
--   SELECT upper(name, name) FROM trips
--          ^^^^^^^^^^^^^^^^^
--   hint: write upper(TEXT)
