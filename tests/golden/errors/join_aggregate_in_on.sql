SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id = max(t.id)
-- error
-- <cell>:1:56: Aggregate functions are not allowed in the ON clause
--   SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id = max(t.id)
--                                                          ^^^^^^^^^
--   hint: aggregate in a query first
