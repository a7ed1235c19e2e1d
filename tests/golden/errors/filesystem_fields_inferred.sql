CREATE TABLE events_sink WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = '/data/out',
  'partitioning.fields' = [id, other]
);
INSERT INTO events_sink SELECT id, name FROM trips;
-- error
-- <cell>:5:13: Failed to create table events_sink caused by Arrow error: Schema error: Unable to get field named "other". Valid fields: ["id", "name", "_timestamp"]
--   INSERT INTO events_sink SELECT id, name FROM trips;
--               ^^^^^^^^^^^
