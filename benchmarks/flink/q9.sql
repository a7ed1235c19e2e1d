-- Winning bids. The order has the bidder as well, as ours has: of bids that are equal
-- in price and time it is one and the same.
SELECT id, item_name, description, initial_bid, reserve, opened, expires, seller,
       category, auction, bidder, price, bid_at
FROM (
    SELECT A.id, A.item_name, A.description, A.initial_bid, A.reserve,
           A.`datetime` AS opened, A.expires, A.seller, A.category, B.auction, B.bidder,
           B.price, B.`datetime` AS bid_at,
           ROW_NUMBER() OVER (PARTITION BY A.id
                              ORDER BY B.price DESC, B.`datetime` ASC, B.bidder ASC)
               AS place
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.`datetime` BETWEEN A.`datetime` AND A.expires
)
WHERE place <= 1;
