"""How many shall be picked of each bin, when a total is wanted."""

from __future__ import annotations

from collections.abc import Sequence


def spread_quota(total: int, sizes: Sequence[int]) -> list[int]:
    """Spread a total over bins as evenly as their sizes allow; what small ones cannot give, the others do.

    Args:
        total: how many are wanted, at least 0.
        sizes: how many each bin has.

    Returns:
        A quota for each bin, never more than its size; of equal claims the first bins get the odd ones. The quotas
        add up to the total, or to all that there are.

    Raises:
        ValueError: the total or a size is negative.
    """
    if total < 0 or any(size < 0 for size in sizes):
        raise ValueError(f"total {total} and sizes {list(sizes)} must not be negative")
    quotas = [0] * len(sizes)
    left = min(total, sum(sizes))
    while left:
        open_bins = [number for number, size in enumerate(sizes) if quotas[number] < size]
        # All open bins rise together, until the smallest is full or there is less than one for each.
        each = min(left // len(open_bins), *(sizes[number] - quotas[number] for number in open_bins))
        given = open_bins if each else open_bins[:left]
        for number in given:
            quotas[number] += max(each, 1)
        left -= max(each, 1) * len(given)
    return quotas
