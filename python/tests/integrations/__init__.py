"""Tests of the integrations with real frameworks. A package, because the directory above has a conftest too."""
