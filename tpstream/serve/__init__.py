"""How does a policy decide for real, step by step, without forgetting anything it was told?"""
