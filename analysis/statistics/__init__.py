"""Interval estimates and tests: pure functions of arrays, each with its literature."""
