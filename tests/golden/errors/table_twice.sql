CREATE TABLE a (x INT) WITH (connector = 'single_file', path = '/r', type = 'source', format = 'json');
CREATE VIEW A AS SELECT id FROM clicks
-- error
-- <cell>:2:13: the table 'A' is declared twice in this script
--   CREATE VIEW A AS SELECT id FROM clicks
--               ^
--   hint: give it another name: Arroyo would silently use the later one
