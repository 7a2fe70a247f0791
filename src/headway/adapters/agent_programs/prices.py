"""What tokens cost by list prices, for programs that report none. An optional package, imported when first needed.

Source: AGENT-CLIS section 6 (genai-prices ships its data; its input tokens include cached ones).
"""

import importlib
from typing import Any, Final

from headway.core.agent_turns import TokenUsage

PROVIDERS: Final = {"anthropic": "anthropic", "openai": "openai", "google": "google", "gemini": "google"}


def price_of(usage: TokenUsage, model: str, provider: str | None) -> float | None:
    """Give what tokens cost at list prices.

    Args:
        usage: the tokens.
        model: its name, as the program was given it or named it itself.
        provider: who serves it; None: the package finds it by the name.
    Returns: dollars; None where the package is not installed or does not know the model: unknown, never 0.
    """
    prices = _package()
    if prices is None or not model:
        return None
    tokens = prices.Usage(
        input_tokens=usage.uncached + usage.cache_read + usage.cache_write,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    try:
        found = prices.calc_price(tokens, model, provider_id=provider)
    except (LookupError, ValueError):  # ValueError: fewer tokens than a price needs to make sense of
        return None
    return round(float(found.total_price), 6)


def _package() -> Any:
    try:
        return importlib.import_module("genai_prices")
    except ImportError:
        return None
