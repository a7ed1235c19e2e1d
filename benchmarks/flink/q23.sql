-- Bids with their bidder and the auctions that the bidder opened.
SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`datetime` AS bid_at, P.name,
       P.email_address, P.credit_card, P.city, P.state, P.`datetime` AS registered,
       A.item_name, A.description, A.initial_bid, A.reserve, A.`datetime` AS opened,
       A.expires, A.seller, A.category
FROM bid AS B
JOIN person AS P ON B.bidder = P.id
JOIN auction AS A ON P.id = A.seller;
