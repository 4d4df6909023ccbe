"""The gateway as a server of the OpenAI protocol: other programs are metered, cached and capped like a build."""

from llm.endpoint.app import Endpoint

__all__ = ["Endpoint"]
