SELECT * FROM clicks AS c JOIN trips AS t ON c.id = t.id
-- error
-- <cell>:1:8: Projections require unique expression names but the expression "id" at position 0 and "id" at position 2 have the same name. Consider aliasing ("AS") one of them
--   SELECT * FROM clicks AS c JOIN trips AS t ON c.id = t.id
--          ^
