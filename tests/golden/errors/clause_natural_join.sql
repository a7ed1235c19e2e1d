SELECT * FROM clicks NATURAL JOIN trips
-- error
-- <cell>:1:35: can't handle join constraint other than ON
--   SELECT * FROM clicks NATURAL JOIN trips
--                                     ^^^^^
--   hint: write ON a.x = b.x
