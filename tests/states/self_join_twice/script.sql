
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
WITH counts AS (SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n FROM rows WHERE v % 5 > 0 GROUP BY w, k) SELECT a.w, a.k, a.n, b.most FROM counts a JOIN (SELECT w, max(n) AS most FROM counts GROUP BY w) b ON a.w = b.w AND a.n = b.most;
