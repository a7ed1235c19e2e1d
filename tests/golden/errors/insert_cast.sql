INSERT INTO totals SELECT name, tags, id FROM trips
-- error
-- <cell>:1:33: column 'total': Unsupported CAST from TEXT[] to DOUBLE
--   INSERT INTO totals SELECT name, tags, id FROM trips
--                                   ^^^^
