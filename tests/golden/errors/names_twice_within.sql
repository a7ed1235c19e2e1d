SELECT * FROM (SELECT * FROM clicks AS c JOIN trips AS t ON c.id = t.id);
CREATE VIEW two AS SELECT c.id, t.id FROM clicks AS c JOIN trips AS t ON c.id = t.id;
SELECT c.id, c.id FROM clicks AS c
-- error
-- <cell>:1:23: Projections require unique expression names but the expression "id" at position 0 and "id" at position 2 have the same name. Consider aliasing ("AS") one of them
--   SELECT * FROM (SELECT * FROM clicks AS c JOIN trips AS t ON c.id = t.id);
--                         ^
-- <cell>:2:33: Projections require unique expression names but the expression "id" at position 0 and "id" at position 1 have the same name. Consider aliasing ("AS") one of them
--   CREATE VIEW two AS SELECT c.id, t.id FROM clicks AS c JOIN trips AS t ON c.id = t.id;
--                                   ^^^^
-- <cell>:3:14: Projections require unique expression names but the expression "id" at position 0 and "id" at position 1 have the same name. Consider aliasing ("AS") one of them
--   SELECT c.id, c.id FROM clicks AS c
--                ^^^^
