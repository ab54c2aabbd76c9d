"""Do we get what the paper got? Its settings run again and compared with the published numbers and claims."""
