
CREATE TABLE rows (k TEXT, v BIGINT, t TIMESTAMP NOT NULL,
                   WATERMARK FOR t AS t - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/rows.jsonl',
      type = 'source', format = 'json');
CREATE TABLE people (id BIGINT PRIMARY KEY, town TEXT, age BIGINT)
WITH (connector = 'single_file', path = '{{ SAVED_STATE }}/people.jsonl',
      type = 'source', format = 'debezium_json');
CREATE TABLE written WITH (connector = 'single_file', format = 'json',
      path = '{{ SAVED_STATE }}/live/written.jsonl', type = 'sink');
SELECT k, v, other FROM (SELECT a.k AS k, a.v AS v, b.v AS other, row_number() OVER (PARTITION BY a.k ORDER BY b.v, a.v DESC) AS place FROM rows a JOIN rows b ON a.v % 10 = b.v % 10 WHERE b.v > a.v) WHERE place <= 3;
