
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
SELECT session(INTERVAL '3 seconds') AS w, k, median(v) AS middle, array_agg(DISTINCT v % 5) FILTER (WHERE v % 2 = 0) AS some, last_value(v ORDER BY t) AS latest, corr(v, length(k) + v % 7) AS r FROM rows WHERE v % 11 < 7 GROUP BY w, k;
