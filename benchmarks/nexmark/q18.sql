-- Find the last bid of each bidder for each auction. ORDER BY has the price as well, so
-- that of bids at one time it is the same one in each run.
SELECT auction, bidder, price, channel, url, datetime, extra
FROM (
    SELECT *, row_number() OVER (PARTITION BY bidder, auction
                                 ORDER BY datetime DESC, price DESC, url, extra) AS place
    FROM bid
) AS B
WHERE place <= 1;
