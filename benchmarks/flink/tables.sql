-- The events as Flink reads them, and the three streams of Nexmark as views of them. Of
-- the microseconds of an event time Flink's time attribute, row_time, keeps
-- milliseconds.
CREATE TABLE nexmark (
    person ROW<
        id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING,
        state STRING, `datetime` TIMESTAMP(6), extra STRING
    >,
    auction ROW<
        id BIGINT, item_name STRING, description STRING, initial_bid BIGINT,
        reserve BIGINT, `datetime` TIMESTAMP(6), expires TIMESTAMP(6), seller BIGINT,
        category BIGINT, extra STRING
    >,
    bid ROW<
        auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
        `datetime` TIMESTAMP(6), extra STRING
    >,
    _timestamp TIMESTAMP(6),
    row_time AS CAST(_timestamp AS TIMESTAMP(3)),
    WATERMARK FOR row_time AS row_time - INTERVAL '1' SECOND
) WITH (
    'connector' = 'filesystem',
    'path' = '{folder}',
    'format' = 'parquet',
    'parquet.utc-timezone' = 'true'
);

CREATE VIEW person AS
SELECT person.id, person.name, person.email_address, person.credit_card, person.city,
       person.state, person.`datetime`, person.extra, row_time
FROM nexmark WHERE person IS NOT NULL;

CREATE VIEW auction AS
SELECT auction.id, auction.item_name, auction.description, auction.initial_bid,
       auction.reserve, auction.`datetime`, auction.expires, auction.seller,
       auction.category, auction.extra, row_time
FROM nexmark WHERE auction IS NOT NULL;

CREATE VIEW bid AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, bid.`datetime`,
       bid.extra, row_time
FROM nexmark WHERE bid IS NOT NULL;
