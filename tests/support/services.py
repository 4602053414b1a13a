"""Services of a lender, in FastAPI: several forms, one of them fair, one for those with a token."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel, Field

app = FastAPI()


class ApiPerson(BaseModel):
    age: int = Field(ge=18, le=90)
    sex: Literal["F", "M"]
    income: float | None = None


class ApiBatch(BaseModel):
    applicants: list[ApiPerson]
    model: str = "v1"


class ApiResult(BaseModel):
    id: int
    decision: str


class ApiResults(BaseModel):
    results: list[ApiResult]


def decision(age: int, sex: str) -> str:
    """Decide by age, of women later."""
    if age > (50 if sex == "F" else 40):
        return "approve"
    return "deny"


@app.post("/v1/score")
def score(batch: ApiBatch) -> ApiResults:
    results = []
    for place, person in enumerate(batch.applicants):
        outcome = decision(person.age, person.sex)
        results.append(ApiResult(id=place, decision=outcome))
    return ApiResults(results=results)


@app.post("/v1/fair")
def fair_score(batch: ApiBatch) -> ApiResults:
    results = []
    for place, person in enumerate(batch.applicants):
        results.append(ApiResult(id=place, decision=decision(person.age, "M")))
    return ApiResults(results=results)


@app.post("/v1/nested")
def nested(
    body: dict[str, Any], authorization: Annotated[str | None, Header()] = None
) -> dict[str, Any]:
    if authorization != "Bearer open sesame":
        raise HTTPException(401, f"who is {authorization}?")
    person = body["person"]
    return {"data": {"decision": decision(person["years"], person["sex"])}}


@app.get("/v1/query")
def by_query(age: int, sex: str) -> dict[str, str]:
    return {"decision": decision(age, sex)}
