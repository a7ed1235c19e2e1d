SELECT c.id FROM clicks AS c, trips AS t
-- error
-- <cell>:1:31: Updating joins must include an equijoin condition
--   SELECT c.id FROM clicks AS c, trips AS t
--                                 ^^^^^^^^^^
--   hint: write JOIN ... ON a.x = b.y; add more conditions with AND
