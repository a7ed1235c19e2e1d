
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
SELECT a.w, b.w AS bw, a.k, b.k AS other, a.n, b.total FROM (SELECT tumble(INTERVAL '10 seconds') AS w, k, count(*) AS n FROM rows WHERE v % 5 > 0 GROUP BY w, k) a FULL JOIN (SELECT tumble(INTERVAL '10 seconds') AS w, k, sum(v) AS total FROM rows WHERE v % 3 = 0 GROUP BY w, k) b ON upper(a.k) = upper(b.k) AND a.n * 20 < b.total;
