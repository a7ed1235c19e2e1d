SELECT id FROM clicks AS c JOIN trips AS t ON at = t.at
-- error
-- <cell>:1:47: Ambiguous reference to unqualified field 'at': it is a column of 'c' and of 't'
--   SELECT id FROM clicks AS c JOIN trips AS t ON at = t.at
--                                                 ^^
--   hint: write c.at or t.at
