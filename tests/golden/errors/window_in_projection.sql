SELECT tumble('1 second') AS w, id FROM clicks
-- error
-- <cell>:1:8: can't call a windowing function without grouping by it in an aggregate
--   SELECT tumble('1 second') AS w, id FROM clicks
--          ^^^^^^^^^^^^^^^^^^
--   hint: add GROUP BY tumble(...)
