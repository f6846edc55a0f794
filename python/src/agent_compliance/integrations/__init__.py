"""Integrations with frameworks. Each module imports its framework when `install` is called."""
