SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND random() < 0.5
-- error
-- <cell>:1:70: random() in the condition of a join is not supported: it gives another number each time
--   SELECT c.id FROM clicks AS c LEFT JOIN trips AS t ON c.id = t.id AND random() < 0.5
--                                                                        ^^^^^^^^
