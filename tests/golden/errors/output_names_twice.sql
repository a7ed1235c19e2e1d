SELECT id, at AS id FROM clicks
-- error
-- <cell>:1:12: Projections require unique expression names but the expression "id" at position 0 and "id" at position 1 have the same name. Consider aliasing ("AS") one of them
--   SELECT id, at AS id FROM clicks
--              ^^
