"""The commands behind ``./study``: the only code that imports both experiment and analysis."""
