CREATE TABLE copy WITH (connector = 'single_file', path = '/data/../data/trips.json', type = 'sink', format = 'json');
INSERT INTO copy SELECT id FROM clicks;
SELECT id FROM trips
-- error
-- <cell>:3:1: the script both reads and writes '/data/trips.json'
--   SELECT id FROM trips
--   ^^^^^^^^^^^^^^^^^^^^
--   hint: write to another file: writing begins by emptying it
