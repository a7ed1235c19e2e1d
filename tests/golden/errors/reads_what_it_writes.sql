CREATE TABLE copy WITH (connector = 'single_file', path = '/data/../data/trips.json', type = 'sink', format = 'json');
INSERT INTO copy SELECT id FROM clicks;
SELECT id FROM trips;
CREATE TABLE cheaper WITH (connector = 'single_file', path = '/data/prices.json', type = 'sink', format = 'json');
INSERT INTO cheaper SELECT p.zone, p.price FROM trips AS t JOIN prices AS p ON t.seats = p.zone AND t.name = p.day
-- error
-- <cell>:3:1: the script both reads and writes '/data/trips.json'
--   SELECT id FROM trips;
--   ^^^^^^^^^^^^^^^^^^^^
--   hint: write to another file: writing begins by emptying it
-- <cell>:5:1: the script both reads and writes '/data/prices.json'
--   INSERT INTO cheaper SELECT p.zone, p.price FROM trips AS t JOIN prices AS p ON t.seats = p.zone AND t.name = p.day
--   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write to another file: writing begins by emptying it
