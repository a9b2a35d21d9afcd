"""The demo workspace: drawn slides taken through every step on the built-in models."""

from pipeline.demo._build import DemoSummary, build_demo, demo_folder

__all__ = ["DemoSummary", "build_demo", "demo_folder"]
