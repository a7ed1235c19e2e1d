SELECT id FROM trips WHERE at > 'foo'
-- error
-- <cell>:1:33: 'foo' is not a valid TIMESTAMP
--   SELECT id FROM trips WHERE at > 'foo'
--                                   ^^^^^
--   hint: write it as in '2024-01-31 12:30:00'
