SELECT c.at FROM clicks AS c CROSS JOIN trips
-- error
-- <cell>:1:41: Updating joins must include an equijoin condition
--   SELECT c.at FROM clicks AS c CROSS JOIN trips
--                                           ^^^^^
--   hint: write JOIN ... ON a.x = b.y; add more conditions with AND
