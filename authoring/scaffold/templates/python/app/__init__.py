"""The agent that agent.yaml declares."""
