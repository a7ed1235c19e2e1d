-- The tables of an earlier cell: every golden script is planned against them.
CREATE TABLE flights WITH (connector = 'sample', dataset = 'flights');
CREATE TABLE trips (
  id BIGINT NOT NULL,
  at TIMESTAMP NOT NULL,
  name TEXT,
  fare DOUBLE,
  seats INT,
  ratio FLOAT,
  price DECIMAL(10, 2),
  done BOOLEAN,
  tags TEXT[],
  place STRUCT<city TEXT, at STRUCT<lat DOUBLE, lon DOUBLE>>,
  "userId" TEXT,
  WATERMARK FOR at AS at - INTERVAL '5 seconds'
) WITH (connector = 'single_file', path = '/data/trips.json', type = 'source', format = 'json');
CREATE TABLE clicks (id BIGINT, at TIMESTAMP, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/data/clicks.json', type = 'source', format = 'json');
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);
CREATE TABLE totals (city TEXT, total DOUBLE NOT NULL, seen BIGINT)
WITH (connector = 'single_file', path = '/data/totals.json', type = 'sink', format = 'json');
CREATE TABLE log WITH (connector = 'stdout', format = 'json');
CREATE TABLE hole WITH (connector = 'blackhole');
CREATE VIEW hourly AS
SELECT tumble(INTERVAL '1 hour') AS window, name, count(*) AS n, sum(fare) AS fares
FROM trips GROUP BY window, name;
CREATE TEMPORARY TABLE users (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT NOT NULL, age INT, place STRUCT<city TEXT>)
WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json', 'lookup.cache.ttl' = INTERVAL '1 minute', 'lookup.cache.max_bytes' = 1000000);
CREATE TEMPORARY TABLE airlines WITH (connector = 'sample', dataset = 'airlines');
CREATE TEMPORARY TABLE prices (zone INT PRIMARY KEY, day TEXT PRIMARY KEY, price DOUBLE)
WITH (connector = 'single_file', path = '/data/prices.json', format = 'json');
