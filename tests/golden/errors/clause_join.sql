SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id = t.id
-- error
-- <cell>:1:35: JOIN is not supported yet
--   SELECT c.id FROM clicks AS c JOIN trips AS t ON c.id = t.id
--                                     ^^^^^^^^^^^^^^^^^^^^^^^^^
