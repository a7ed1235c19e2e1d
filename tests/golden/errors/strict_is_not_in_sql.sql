SET strict = true
-- error
-- <cell>:1:5: invalid option 'strict'; supported options are 'updating_ttl'
--   SET strict = true
--       ^^^^^^
--   hint: known: updating_ttl
