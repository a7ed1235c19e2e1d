SELECT unnest(tags), unnest(array_distinct(tags)) FROM trips; SELECT id, unnest(tags) AS one, unnest(make_array(id, 2)) AS other FROM trips
-- error
-- <cell>:1:22: Projection contains multiple unnests, which is not currently supported
--   SELECT unnest(tags), unnest(array_distinct(tags)) FROM trips; SELECT id, unnest(tags) AS one, unnest(make_array(id, 2)) AS other FROM trips
--                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: unnest one list in a subquery, and the other one outside
-- <cell>:1:95: Projection contains multiple unnests, which is not currently supported
--   SELECT unnest(tags), unnest(array_distinct(tags)) FROM trips; SELECT id, unnest(tags) AS one, unnest(make_array(id, 2)) AS other FROM trips
--                                                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: unnest one list in a subquery, and the other one outside
