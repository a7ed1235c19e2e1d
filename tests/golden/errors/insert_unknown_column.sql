INSERT INTO totals (citty, total) SELECT name, fare FROM trips
-- error
-- <cell>:1:21: column 'citty' not found
--   INSERT INTO totals (citty, total) SELECT name, fare FROM trips
--                       ^^^^^
--   hint: did you mean 'city'?
