"""Reporter for agents in Python. Needs only the standard library.

Follows the contract of the reporter for Node.js: `GET /platform/health`, `GET /platform/usage`, behavioral
headers and events. `platform generate` wrote this package into the project.
"""

from .behavior import Behavior
from .model_api import ModelApi, model_api
from .references import References
from .reporter import Reporter, ReporterRoutes

__all__ = ["Behavior", "ModelApi", "References", "Reporter", "ReporterRoutes", "model_api"]
