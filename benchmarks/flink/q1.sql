-- Currency conversion. As published 0.908 is a DECIMAL; ours is a DOUBLE, so it is here.
SELECT auction, bidder, 0.908E0 * price AS price, `datetime`, extra FROM bid;
