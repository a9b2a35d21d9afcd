"""Local servers that speak the wire protocols of language-model providers."""
