-- Expand bids with their auction.
SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`datetime` AS bid_at,
       B.extra AS bid_extra, A.item_name, A.description, A.initial_bid, A.reserve,
       A.`datetime` AS opened, A.expires, A.seller, A.category, A.extra AS auction_extra
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id
WHERE A.category = 10;
