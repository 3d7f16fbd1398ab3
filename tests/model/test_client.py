from actum.base.errors import ModelError, ProviderError
from actum.model.client import ModelClient, is_retryable
from actum.testing.script import ScriptedModel


def test_only_a_provider_says_that_a_call_may_be_repeated() -> None:
    error = ProviderError(kind="timeout", message="slow", provider="p", operation="complete", retryable=True)
    assert is_retryable(error)
    assert not is_retryable(ModelError(kind="x", message="y"))
    assert not is_retryable(TimeoutError())


def test_whatever_has_the_verbs_is_a_client() -> None:
    assert isinstance(ScriptedModel(), ModelClient)
    assert not isinstance(object(), ModelClient)
