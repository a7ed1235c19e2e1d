SELECT row_number() OVER (PARTITION BY window ORDER BY n) FROM hourly
-- error
-- <cell>:1:40: OVER partitioned by a window is not supported yet
--   SELECT row_number() OVER (PARTITION BY window ORDER BY n) FROM hourly
--                                          ^^^^^^
--   hint: without the window among its keys, PARTITION BY ranks the rows of all windows
