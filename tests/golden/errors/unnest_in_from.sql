SELECT * FROM unnest(tags); SELECT id FROM trips, LATERAL unnest(tags) AS t
-- error
-- <cell>:1:15: FROM takes a table or a query: functions, LATERAL and VALUES are not supported
--   SELECT * FROM unnest(tags); SELECT id FROM trips, LATERAL unnest(tags) AS t
--                 ^^^^^^^^^^^^
--   hint: write unnest(tags) AS x in the select list
-- <cell>:1:59: LATERAL is not supported
--   SELECT * FROM unnest(tags); SELECT id FROM trips, LATERAL unnest(tags) AS t
--                                                             ^^^^^^^^^^^^^^^^^
--   hint: write unnest(tags) AS x in the select list
