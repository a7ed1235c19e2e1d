SELECT count(*) FROM nowhere_declared
-- error
-- <cell>:1:22: Table nowhere_declared not found
--   SELECT count(*) FROM nowhere_declared
--                        ^^^^^^^^^^^^^^^^
--   hint: known: airlines, clicks, flights, hole, hourly, log, prices, ticks, totals, trips, users
