SELECT c.at FROM clicks AS c LEFT SEMI JOIN trips AS t ON c.id = t.id
-- error
-- <cell>:1:45: LEFT SEMI JOIN is not supported
--   SELECT c.at FROM clicks AS c LEFT SEMI JOIN trips AS t ON c.id = t.id
--                                               ^^^^^^^^^^^^^^^^^^^^^^^^^
