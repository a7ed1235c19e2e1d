SET parallelism = 4
-- error
-- <cell>:1:5: invalid option 'parallelism'; supported options are 'updating_ttl'
--   SET parallelism = 4
--       ^^^^^^^^^^^
--   hint: remove it: a cell runs a task for each core; a job.yaml has options: parallelism
