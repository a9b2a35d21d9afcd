"""Everything an engineer needs without a database: slides, encoders, items, models and benchmarks."""
