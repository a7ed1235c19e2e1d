INSERT INTO totals SELECT name FROM trips
-- error
-- <cell>:1:13: Column count doesn't match insert query! The query has 1 columns, the table takes 3
--   INSERT INTO totals SELECT name FROM trips
--               ^^^^^^
