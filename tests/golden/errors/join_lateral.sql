SELECT c.id FROM clicks AS c LEFT JOIN LATERAL (SELECT id FROM trips) AS t ON c.id = t.id
-- error
-- <cell>:1:56: LATERAL is not supported
--   SELECT c.id FROM clicks AS c LEFT JOIN LATERAL (SELECT id FROM trips) AS t ON c.id = t.id
--                                                          ^^^^^^^^^^^^^^^^^^^
--   hint: write the query as a JOIN, or with OVER in a subquery
