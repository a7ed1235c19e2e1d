SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND concat(t.name, c.id) = 'x'
-- error
-- <cell>:1:70: concat over both sides of an outer join is not supported
--   SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND concat(t.name, c.id) = 'x'
--                                                                        ^^^^^^^^^^^^^^^^^^^^
--   hint: compare columns, or compute each side's part in a query of its own
