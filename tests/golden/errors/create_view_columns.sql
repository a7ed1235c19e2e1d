CREATE VIEW v (a, b) AS SELECT id, at FROM clicks
-- error
-- <cell>:1:13: a view takes its columns from its query: it has no column list and no options
--   CREATE VIEW v (a, b) AS SELECT id, at FROM clicks
--               ^^^^^^^
--   hint: write CREATE VIEW v AS SELECT ... AS column
