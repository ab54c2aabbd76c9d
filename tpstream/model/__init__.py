"""What are the words? Events, worlds, errors and protocols that every other package uses; imports none of them."""
