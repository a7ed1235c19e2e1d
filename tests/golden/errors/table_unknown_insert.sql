INSERT INTO totls SELECT id FROM clicks
-- error
-- <cell>:1:13: Connection totls not found
--   INSERT INTO totls SELECT id FROM clicks
--               ^^^^^
--   hint: did you mean 'totals'?
