-- Selection: a filter that few rows pass.
SELECT auction, price FROM bid WHERE auction % 123 = 0;
