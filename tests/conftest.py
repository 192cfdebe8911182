"""What holds for every test."""

from hypothesis import HealthCheck, settings

# These machines are slow and shared: how long an example takes says nothing about the code.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")
