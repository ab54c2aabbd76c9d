"""Would the policy decide the same again? Logs fed back to policies, checked event by event."""
