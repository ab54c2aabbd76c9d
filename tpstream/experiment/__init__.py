"""What do many runs say? Plans, workers, the store of finished runs, and the tables made from them."""
