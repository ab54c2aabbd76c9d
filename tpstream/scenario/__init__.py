"""What was asked for? Scenario files, validated and turned into models."""
