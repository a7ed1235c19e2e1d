-- The ten highest bids of each auction. The order has more than the price, as ours has:
-- of bids of one price they are the same.
SELECT auction, bidder, price, channel, url, `datetime`, extra, place
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction
                                 ORDER BY price DESC, `datetime` ASC, bidder ASC,
                                          url ASC, extra ASC) AS place
    FROM bid
)
WHERE place <= 10;
