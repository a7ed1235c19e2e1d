SELECT x.id FROM clicks
-- error
-- <cell>:1:8: 'x' not found: it is neither a column nor a relation
--   SELECT x.id FROM clicks
--          ^
--   hint: the relation here is 'clicks'
