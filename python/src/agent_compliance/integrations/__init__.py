"""Integrations of frameworks. Each module has a function `install`."""
