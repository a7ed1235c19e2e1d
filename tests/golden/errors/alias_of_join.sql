SELECT q.id FROM (clicks AS a JOIN trips AS b ON a.id = b.id) AS q
-- error
-- <cell>:1:66: the relation 'q' has two columns 'id'
--   SELECT q.id FROM (clicks AS a JOIN trips AS b ON a.id = b.id) AS q
--                                                                    ^
--   hint: name each column: q (a, b, ...)
