"""The tool for parcels."""

import httpx
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field


class ParcelInput(BaseModel):
    parcel: str = Field(description="Number of the parcel")


class ParcelTool(BaseTool):
    name: str = "track_parcel"
    description: str = (
        "Finds out where a parcel is. "
        "Needs the number of the parcel."
    )
    args_schema: type[BaseModel] = ParcelInput

    def _run(self, parcel: str) -> str:
        response = httpx.get(f"https://parcels.example.com/v1/parcels/{parcel}", timeout=5)
        return response.text
