-- Find the last bid of each bidder for each auction. Flink takes this form, by event
-- time alone, for a deduplication, which is cheaper than a rank.
SELECT auction, bidder, price, channel, url, `datetime`, extra
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY row_time DESC)
                  AS place
    FROM bid
)
WHERE place <= 1;
