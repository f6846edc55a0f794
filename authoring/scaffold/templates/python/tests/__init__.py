"""Tests of the agent: `python -m unittest`."""
