SELECT n FROM clicks JOIN hourly ON n = id; SELECT n FROM hourly LEFT JOIN clicks ON n = id
-- error
-- <cell>:1:27: can't handle mixed windowing between left (non-windowed) and right (windowed).
--   SELECT n FROM clicks JOIN hourly ON n = id; SELECT n FROM hourly LEFT JOIN clicks ON n = id
--                             ^^^^^^^^^^^^^^^^
--   hint: group both sides by the same window, or none of them
-- <cell>:1:76: can't handle mixed windowing between left (windowed) and right (non-windowed).
--   SELECT n FROM clicks JOIN hourly ON n = id; SELECT n FROM hourly LEFT JOIN clicks ON n = id
--                                                                              ^^^^^^^^^^^^^^^^
--   hint: group both sides by the same window, or none of them
