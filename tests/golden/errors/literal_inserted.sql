INSERT INTO totals SELECT name, 'x', 5 FROM trips
-- error
-- <cell>:1:33: column 'total': 'x' is not a valid DOUBLE
--   INSERT INTO totals SELECT name, 'x', 5 FROM trips
--                                   ^^^
