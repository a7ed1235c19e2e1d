SET parallelism = 4
-- error
-- <cell>:1:5: invalid option 'parallelism'; supported options are 'updating_ttl'
--   SET parallelism = 4
--       ^^^^^^^^^^^
--   hint: leave it out: how many tasks a run has follows from the cores
