SET parallelism = 4
-- error
-- <cell>:1:5: invalid option 'parallelism'; supported options are 'updating_ttl'
--   SET parallelism = 4
--       ^^^^^^^^^^^
--   hint: remove it: the number of tasks follows from the cores
