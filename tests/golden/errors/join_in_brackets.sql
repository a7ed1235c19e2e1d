SELECT c.id FROM clicks AS c JOIN (trips JOIN flights ON trips.name = flights.origin) ON c.id = trips.id
-- error
-- <cell>:1:36: a table or a JOIN in brackets is not supported
--   SELECT c.id FROM clicks AS c JOIN (trips JOIN flights ON trips.name = flights.origin) ON c.id = trips.id
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write (SELECT ... FROM ... JOIN ...) AS name
