-- Pass through: what it costs to read and write rows.
SELECT auction, bidder, price, datetime, extra FROM bid;
