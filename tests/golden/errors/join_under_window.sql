SELECT count(*) AS n FROM clicks AS c JOIN trips AS t ON c.id = t.id GROUP BY tumble('1 minute')
-- error
-- <cell>:1:8: a window aggregate over a join without windows is not supported yet
--   SELECT count(*) AS n FROM clicks AS c JOIN trips AS t ON c.id = t.id GROUP BY tumble('1 minute')
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: group by a column that is made of the event time
