CREATE TABLE events_sink (id BIGINT, tags TEXT[]) WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = '/data/out',
  'partitioning.fields' = [id, not_a_real_field, tags]
);
-- error
-- <cell>:3:3: Failed to create table events_sink caused by Arrow error: Schema error: Unable to get field named "not_a_real_field". Valid fields: ["id", "tags", "_timestamp"]
--     'partitioning.fields' = [id, not_a_real_field, tags]
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:3:3: Failed to create table events_sink caused by the values of 'tags' cannot name folders: its type is TEXT[]
--     'partitioning.fields' = [id, not_a_real_field, tags]
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
