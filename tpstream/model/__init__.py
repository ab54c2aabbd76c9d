"""What are the words? The vocabulary that every other room speaks; it imports nothing of ours."""
