-- Pass through.
SELECT auction, bidder, price, `datetime`, extra FROM bid;
