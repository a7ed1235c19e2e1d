CREATE TABLE x WITH (connector = 'impulse', event_rate = 1, type = 'source')
-- error
-- <cell>:1:61: Failed to create table x caused by unknown options provided in WITH clause: 'type'
--   CREATE TABLE x WITH (connector = 'impulse', event_rate = 1, type = 'source')
--                                                               ^^^^^^^^^^^^^^^
--   hint: known: bad_data, connection_profile, connector, event_rate, event_time_field, event_time_interval, idle_micros, message_count, watermark_field
