SELECT * FROM clicks NATURAL JOIN trips
-- error
-- <cell>:1:35: JOIN is not supported yet
--   SELECT * FROM clicks NATURAL JOIN trips
--                                     ^^^^^
