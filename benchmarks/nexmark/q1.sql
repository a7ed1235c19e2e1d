-- Currency conversion: a projection. Flink's 0.908 is a DECIMAL, here it is a DOUBLE.
SELECT auction, bidder, 0.908 * price AS price, datetime, extra FROM bid;
