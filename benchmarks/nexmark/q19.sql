-- The ten highest bids of each auction; the first of equals.
SELECT auction, bidder, price, channel, url, datetime, extra, place
FROM (
    SELECT *, row_number() OVER (PARTITION BY auction
                                 ORDER BY price DESC, datetime, bidder, url, extra)
                  AS place
    FROM bid
) AS B
WHERE place <= 10;
