"""Do we get what the paper got? Its settings run again, compared number by number and claim by claim."""
