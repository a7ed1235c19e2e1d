SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id
-- error
-- <cell>:1:49: Cannot create filter with non-boolean predicate: ON is given BIGINT
--   SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id
--                                                   ^^^^
--   hint: compare the number, as in x <> 0
