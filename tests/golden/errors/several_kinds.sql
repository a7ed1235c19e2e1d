CREATE TABLE x (a UUID, b INT, WATERMARK FOR c) WITH (connector = 'single_file', path = 5, type = 'sourc', format = 'json', foo = 1);
SELECT aa, bb FROM clicks;
SET x = 1
-- error
-- <cell>:1:19: Unsupported SQL type 'UUID'
--   CREATE TABLE x (a UUID, b INT, WATERMARK FOR c) WITH (connector = 'single_file', path = 5, type = 'sourc', format = 'json', foo = 1);
--                     ^^^^
--   hint: write TEXT
-- <cell>:1:89: Failed to create table x caused by expected with option 'path' to be a single-quoted string, but it was `5`
--   CREATE TABLE x (a UUID, b INT, WATERMARK FOR c) WITH (connector = 'single_file', path = 5, type = 'sourc', format = 'json', foo = 1);
--                                                                                           ^
-- <cell>:1:92: Failed to create table x caused by invalid value for 'type': `sourc`; the connector 'single_file' can be 'lookup' or 'sink' or 'source'
--   CREATE TABLE x (a UUID, b INT, WATERMARK FOR c) WITH (connector = 'single_file', path = 5, type = 'sourc', format = 'json', foo = 1);
--                                                                                              ^^^^^^^^^^^^^^
-- <cell>:1:125: Failed to create table x caused by unknown options provided in WITH clause: 'foo'
--   CREATE TABLE x (a UUID, b INT, WATERMARK FOR c) WITH (connector = 'single_file', path = 5, type = 'sourc', format = 'json', foo = 1);
--                                                                                                                               ^^^^^^^
--   hint: known: bad_data, connection_profile, connector, event_time_field, format, framing, framing.newline.max_length, idle_micros, json.decimal_encoding, json.timestamp_format, json.unstructured, path, type, wait_for_control, watermark_field
-- <cell>:2:8: column 'aa' not found
--   SELECT aa, bb FROM clicks;
--          ^^
--   hint: known: at, id
-- <cell>:2:12: column 'bb' not found
--   SELECT aa, bb FROM clicks;
--              ^^
--   hint: known: at, id
-- <cell>:3:5: invalid option 'x'; supported options are 'updating_ttl'
--   SET x = 1
--       ^
--   hint: the only setting is updating_ttl, as in SET updating_ttl = INTERVAL '1 day'; options of a run are flags of the cell, which %%arroyo --help lists
