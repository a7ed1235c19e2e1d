SELECT count(*) FROM clicks GROUP BY tumble(id)
-- error
-- <cell>:1:45: unsupported Duration expression, expect duration literal, not "id"
--   SELECT count(*) FROM clicks GROUP BY tumble(id)
--                                               ^^
--   hint: write an INTERVAL, as in INTERVAL '1 minute'
