
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
SELECT w, k, n, place, before, total FROM (SELECT *, row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place, lag(n, 1, 0) OVER (PARTITION BY w ORDER BY n DESC) AS before, sum(n) OVER (PARTITION BY w ORDER BY n RANGE 2.5 PRECEDING) AS total FROM (SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n FROM rows GROUP BY w, k)) WHERE place <= 2;
