"""How a series of measurements is printed."""


def spread(seconds):
    """Least, median and 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    p50, p99 = ordered[last // 2], ordered[round(last * 0.99)]
    return f"min {ordered[0] * 1e3:7.1f}  p50 {p50 * 1e3:7.1f}  p99 {p99 * 1e3:7.1f} ms"
