SELECT c.id FROM clicks AS c JOIN trips AS t ON c.at = t.done
-- error
-- <cell>:1:49: Cannot infer common argument type for comparison operation =: TIMESTAMP and BOOLEAN
--   SELECT c.id FROM clicks AS c JOIN trips AS t ON c.at = t.done
--                                                   ^^^^^^^^^^^^^
--   hint: write CAST(... AS TYPE), so that they have one type
