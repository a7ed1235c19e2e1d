SELECT "ID" FROM trips
-- error
-- <cell>:1:8: column 'ID' not found
--   SELECT "ID" FROM trips
--          ^^^^
--   hint: write id: it is spelled without capitals
