"""Evaluation of answers, as a test."""

from deepeval import assert_test
from deepeval.metrics import AnswerRelevancyMetric
from deepeval.test_case import LLMTestCase


def test_status_of_an_order() -> None:
    case = LLMTestCase(input="Where is order 17?", actual_output="Order 17 was sent today.")
    assert_test(case, [AnswerRelevancyMetric(model="gpt-4o", threshold=0.7)])
