SET strict = true
-- error
-- <cell>:1:5: invalid option 'strict'; supported options are 'updating_ttl'
--   SET strict = true
--       ^^^^^^
--   hint: the only setting is updating_ttl, as in SET updating_ttl = INTERVAL '1 day'; options of a run are flags of the cell, which %%arroyo --help lists
