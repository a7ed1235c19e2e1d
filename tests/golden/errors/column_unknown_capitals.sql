SELECT userId FROM trips
-- error
-- <cell>:1:8: column 'userid' not found
--   SELECT userId FROM trips
--          ^^^^^^
--   hint: write "userId" in double quotes: it is spelled with capitals
