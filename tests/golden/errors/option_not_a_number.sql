CREATE TABLE x WITH (connector = 'impulse', event_rate = 'fast', message_count = 1.5)
-- error
-- <cell>:1:58: Failed to create table x caused by expected with option 'event_rate' to be a double, but it was `'fast'`
--   CREATE TABLE x WITH (connector = 'impulse', event_rate = 'fast', message_count = 1.5)
--                                                            ^^^^^^
-- <cell>:1:82: Failed to create table x caused by expected with option 'message_count' to be an unsigned integer, but it was `1.5`
--   CREATE TABLE x WITH (connector = 'impulse', event_rate = 'fast', message_count = 1.5)
--                                                                                    ^^^
