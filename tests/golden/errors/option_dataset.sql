CREATE TABLE x WITH (connector = 'sample', dataset = 'flight')
-- error
-- <cell>:1:44: Failed to create table x caused by unknown dataset 'flight'
--   CREATE TABLE x WITH (connector = 'sample', dataset = 'flight')
--                                              ^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'flights'?
