SELECT unnest(tags) || unnest(tags) FROM trips; SELECT unnest(make_array(unnest(tags))) FROM trips
-- error
-- <cell>:1:24: Multiple unnests in expression, which is not allowed
--   SELECT unnest(tags) || unnest(tags) FROM trips; SELECT unnest(make_array(unnest(tags))) FROM trips
--                          ^^^^^^^^^^^^
--   hint: unnest in a subquery, and use its name outside
-- <cell>:1:74: Multiple unnests in expression, which is not allowed
--   SELECT unnest(tags) || unnest(tags) FROM trips; SELECT unnest(make_array(unnest(tags))) FROM trips
--                                                                            ^^^^^^^^^^^^
--   hint: unnest in a subquery, and use its name outside
