SELECT c.id FROM clicks AS c, trips AS t
-- error
-- <cell>:1:31: JOIN is not supported yet
--   SELECT c.id FROM clicks AS c, trips AS t
--                                 ^^^^^^^^^^
