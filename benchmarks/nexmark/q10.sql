-- Log to a file system: rows with the day and the minute that a sink partitions by. A
-- runner writes them: INSERT INTO a filesystem table with 'partitioning.fields'.
SELECT auction, bidder, price, datetime, extra, to_char(datetime, '%Y-%m-%d') AS dt,
       to_char(datetime, '%H:%M') AS hm
FROM bid;
