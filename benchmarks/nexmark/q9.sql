-- Winning bids: the highest bid of each auction while it was open, the first of equals.
-- ORDER BY has the bidder as well, so that of bids that are equal in both it is the same
-- one in each run.
SELECT id, item_name, description, initial_bid, reserve, opened, expires, seller,
       category, auction, bidder, price, bid_at
FROM (
    SELECT A.id AS id, A.item_name AS item_name, A.description AS description,
           A.initial_bid AS initial_bid, A.reserve AS reserve, A.datetime AS opened,
           A.expires AS expires, A.seller AS seller, A.category AS category,
           B.auction AS auction, B.bidder AS bidder, B.price AS price,
           B.datetime AS bid_at,
           row_number() OVER (PARTITION BY A.id
                              ORDER BY B.price DESC, B.datetime, B.bidder) AS place
    FROM auction AS A JOIN bid AS B ON A.id = B.auction
    WHERE B.datetime BETWEEN A.datetime AND A.expires
) AS T
WHERE place <= 1;
