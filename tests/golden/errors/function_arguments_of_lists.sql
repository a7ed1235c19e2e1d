SELECT named_struct('a', id, 'a', 1), get_field(struct(id), 'c1'), arrow_cast(id, 'Int65'),
  arrow_cast(name, 'Int64'), array_sort([1, 2], 'UP'), array_slice([1, 2], 1, 2, 0),
  array_resize([1], -1), range(1, 10, 0), map_keys([1, 2]), array_length([1], id),
  map_extract(map(['a'], [1]), 7), array_concat([1], ['a']), named_struct(name, 1)
FROM trips
-- error
-- <cell>:1:8: named_struct() is given two fields 'a'
--   SELECT named_struct('a', id, 'a', 1), get_field(struct(id), 'c1'), arrow_cast(id, 'Int65'),
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- <cell>:1:39: field 'c1' not found
--   SELECT named_struct('a', id, 'a', 1), get_field(struct(id), 'c1'), arrow_cast(id, 'Int65'),
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: known: c0
-- <cell>:1:68: Unsupported type 'Int65'. Must be a supported arrow type name such as 'Int32' or 'Timestamp(Nanosecond, None)'
--   SELECT named_struct('a', id, 'a', 1), get_field(struct(id), 'c1'), arrow_cast(id, 'Int65'),
--                                                                      ^^^^^^^^^^^^^^^^^^^^^^^
--   hint: did you mean 'Int64'?
-- <cell>:2:49: the order of array_sort 'UP' is not known
--     arrow_cast(name, 'Int64'), array_sort([1, 2], 'UP'), array_slice([1, 2], 1, 2, 0),
--                                                   ^^^^
--   hint: known: ASC, DESC
-- <cell>:2:82: the stride of array_slice must not be 0
--     arrow_cast(name, 'Int64'), array_sort([1, 2], 'UP'), array_slice([1, 2], 1, 2, 0),
--                                                                                    ^
--   hint: 1 takes every element, -1 every one from the back
-- <cell>:3:22: the size of array_resize must not be negative
--     array_resize([1], -1), range(1, 10, 0), map_keys([1, 2]), array_length([1], id),
--                        ^
-- <cell>:3:39: the step of range() must not be zero
--     array_resize([1], -1), range(1, 10, 0), map_keys([1, 2]), array_length([1], id),
--                                         ^
-- <cell>:3:43: BIGINT[] is not a map
--     array_resize([1], -1), range(1, 10, 0), map_keys([1, 2]), array_length([1], id),
--                                             ^^^^^^^^^^^^^^^^
--   hint: write map(keys, values)
-- <cell>:4:3: the map's keys are TEXT, and the key that is looked up is BIGINT
--     map_extract(map(['a'], [1]), 7), array_concat([1], ['a']), named_struct(name, 1)
--     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: cast it to TEXT
-- <cell>:4:36: array_concat() does not take (BIGINT[], TEXT[])
--     map_extract(map(['a'], [1]), 7), array_concat([1], ['a']), named_struct(name, 1)
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write array_concat(list, ...); an element of list is BIGINT
-- <cell>:4:62: the name of a field must be a literal
--     map_extract(map(['a'], [1]), 7), array_concat([1], ['a']), named_struct(name, 1)
--                                                                ^^^^^^^^^^^^^^^^^^^^^
--   hint: write named_struct('a', 1, 'b', 2)
