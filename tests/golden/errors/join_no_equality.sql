SELECT c.at FROM clicks AS c JOIN trips AS t ON c.id < t.id OR c.id = t.id
-- error
-- <cell>:1:35: Updating joins must include an equijoin condition
--   SELECT c.at FROM clicks AS c JOIN trips AS t ON c.id < t.id OR c.id = t.id
--                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write JOIN ... ON a.x = b.y; add more conditions with AND
