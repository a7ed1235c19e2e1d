SELECT upper(name, name) FROM trips;
SELECT array_has(tags, 1) FROM trips;
SELECT array_append(string_to_array(name, ','), 2.5), array_position(make_array(1), 'x') FROM trips
-- error
-- <cell>:1:8: upper() does not take (TEXT, TEXT)
--   SELECT upper(name, name) FROM trips;
--          ^^^^^^^^^^^^^^^^^
--   hint: write upper(TEXT)
-- <cell>:2:8: array_has() does not take (TEXT[], BIGINT)
--   SELECT array_has(tags, 1) FROM trips;
--          ^^^^^^^^^^^^^^^^^^
--   hint: write array_has(list, element); an element of tags is TEXT
-- <cell>:3:8: array_append() does not take (TEXT[], DOUBLE)
--   SELECT array_append(string_to_array(name, ','), 2.5), array_position(make_array(1), 'x') FROM trips
--          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write array_append(list, element); an element of list is TEXT
-- <cell>:3:55: array_position() does not take (BIGINT[], TEXT)
--   SELECT array_append(string_to_array(name, ','), 2.5), array_position(make_array(1), 'x') FROM trips
--                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
--   hint: write array_position(list, element, [BIGINT]); an element of list is BIGINT
