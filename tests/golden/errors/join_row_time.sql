SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND c.at < row_time()
-- error
-- <cell>:1:77: Ambiguous reference to row_time(): both sides of a join have one
--   SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND c.at < row_time()
--                                                                               ^^^^^^^^^^
--   hint: select it in a query on one side, under a name
